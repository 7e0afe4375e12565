# SPDX-License-Identifier: BSD-2-Clause
"""The page that scripts/evaluate writes, and the figures on it."""

import pathlib
import tempfile
import types
import unittest

from evaluation.page import rebuild, wrapped
from evaluation.pictures import COLOURS
from evaluation.spread import jain, ratio_of_means, runs_of, scaled, spread, text, verdict

MACHINE = {"date": "2026-01-02", "cpus": 2, "model": "some CPU", "kernel": "6.1.0", "load": 0.5}


def experiment(title, says):
    return types.SimpleNamespace(TITLE=title, SOURCE="a paper, section 1", page=lambda result: says + result["found"],
                                 claims=lambda result: [f"It is {result['found']}."],
                                 takeaway=lambda result: [("what", "theirs", result["found"])])


def result(found):
    return {"machine": MACHINE, "effort": "2 runs", "found": found}


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "evaluation.md"
        self.known = {"first": experiment("First: one", "A "), "second": experiment("Second", "B ")}

    def rebuild(self, results):
        rebuild(self.path, self.known, results)
        return self.path.read_text(encoding="utf-8")

    def test_only_what_was_run_is_replaced(self):
        self.rebuild({"second": result("former")})
        page = self.rebuild({"first": result("new")})
        self.assertIn("B former", page)
        self.assertIn("| what | theirs | former |", page)
        self.assertIn("| what | theirs | new |", page)
        self.assertIn("- It is new. <!-- claim first -->\n- It is former. <!-- claim second -->\n", page)
        self.assertLess(page.index("A new"), page.index("B former"), "sections stand in the order of the experiments")
        page = self.rebuild({"second": result("newer")})
        self.assertNotIn("former", page)
        self.assertEqual(page.count("## Second"), 1)

    def test_a_section_says_where_it_ran(self):
        page = self.rebuild({"first": result("x")})
        self.assertIn("*2026-01-02, 2 CPUs (some CPU), Linux 6.1.0, load 0.5 before it; 2 runs.*", page)

    def test_a_section_says_in_which_mode_xdp_was(self):
        page = self.rebuild({"first": {**result("x"), "mode": "native"}})
        self.assertIn("2 runs; native XDP.*", " ".join(page.split()))

    def test_a_section_says_how_long_it_took(self):
        page = self.rebuild({"first": {**result("x"), "minutes": 12.5}})
        self.assertIn("2 runs; 12.5 minutes.*", " ".join(page.split()))

    def test_paragraphs_are_wrapped_and_nothing_else_is(self):
        long = "word " * 30
        text = f"{long}\n\n- {long}\n- {long}\n\n| {long} |\n\n```\n{long}\n```\n\n{'x' * 96} + 1 and on"
        lines = wrapped(text).split("\n")
        self.assertEqual(wrapped("\n".join(lines)).split("\n"), lines, "the same again changes nothing")
        self.assertEqual([line for line in lines if len(line) > 100], [f"| {long} |", long])
        self.assertEqual([line[:6] for line in lines[3:7]], ["- word", "  word", "- word", "  word"])
        self.assertFalse([line for line in lines if line.startswith("+")], "or it would be a list")

    def test_a_busy_machine_is_told(self):
        self.assertNotIn("busy", self.rebuild({"first": result("x")}))
        self.assertIn("busy", self.rebuild({"first": {**result("x"), "machine": {**MACHINE, "load": 3.0}}}))

    def test_rows_link_to_their_section(self):
        self.assertIn("[First: one](#first-one)", self.rebuild({"first": result("x")}))

    def test_the_same_again_changes_nothing(self):
        before = self.rebuild({"first": result("x"), "second": result("y")})
        self.assertEqual(self.rebuild({"first": result("x")}), before)


class Pictures(unittest.TestCase):
    def test_no_two_contenders_have_one_colour(self):
        self.assertEqual(len(set(COLOURS.values())), len(COLOURS))


class Spread(unittest.TestCase):
    def test_is_median_and_quartiles(self):
        self.assertEqual(spread([4, 1, 2, 3, 5]), {"median": 3, "low": 2, "high": 4, "least": 1, "runs": 5})
        self.assertEqual(text(spread([4, 1, 2, 3, 5]), 0), "3 (2–4)")

    def test_what_was_not_measured_is_left_out(self):
        self.assertIsNone(spread([None]))
        self.assertEqual(text(None), "–")
        self.assertEqual(text(spread([None, 7.0])), "7.0")

    def test_signs_are_minus_and_spans_of_them_are_read(self):
        self.assertEqual(text(scaled(spread([54, 54, 54]), -1), 0), "−54")
        self.assertEqual(text(spread([-54.0, -50.0, -60.0]), 0), "−54 (−57 to −52)")
        self.assertEqual(text(spread([-0.01]), 1), "0.0")

    def test_runs_are_told(self):
        self.assertEqual(runs_of([spread([1, 2, 3]), None, spread(range(30))]), "3 to 30 runs")

    def test_a_target_is_held_against_each_median(self):
        pair = [spread([1.0]), spread([2.0]), None]
        self.assertEqual(verdict("≥ 2", pair, lambda median: median >= 2), "≥ 2: missed, reached")
        self.assertEqual(verdict("≥ 1", pair, lambda median: median >= 1), "≥ 1: reached")

    def test_a_ratio_of_means_lies_in_its_interval_and_is_the_same_each_time(self):
        found = ratio_of_means([2, 4, 6, None], [1, 2, 3])
        self.assertEqual(found["ratio"], 2)
        self.assertTrue(found["low"] < 2 < found["high"], found)
        self.assertEqual(found, ratio_of_means([2, 4, 6, None], [1, 2, 3]))
        self.assertEqual(ratio_of_means([5, 5], [5]), {"ratio": 1, "low": 1, "high": 1})
        self.assertIsNone(ratio_of_means([None], [1]))

    def test_jain_is_one_for_equals_and_one_over_n_for_one_of_n(self):
        self.assertEqual(jain([3.0, 3.0]), 1.0)
        self.assertAlmostEqual(jain([1.0, 0.0, 0.0, 0.0]), 0.25)


if __name__ == "__main__":
    unittest.main()
