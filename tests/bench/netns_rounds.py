# SPDX-License-Identifier: BSD-2-Clause
"""bench/allreduce/run and bench/overrun/run, at their smallest: they run, check their sums and say what they measured."""

import json
import os
import pathlib
import subprocess
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"


def run(name, *words):
    """What the benchmark says."""
    done = subprocess.run([BENCH / name / "run", "--build", os.environ["OLAF_BUILD"], *words], text=True,
                          capture_output=True, timeout=100, check=False)
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr}{done.stdout}")
    return done.stdout


def lines(name, *words):
    return [json.loads(line) for line in run(name, "--json", *words).splitlines()]


class Allreduce(unittest.TestCase):
    WORDS = ["--workers", "2", "--sizes", "40K", "--turns", "0.05"]

    def test_times_of_both_are_told(self):
        [line] = lines("allreduce", *self.WORDS)
        self.assertEqual((line["workers"], line["bytes"]), (2, 40_000))
        for way in ("by_gloo", "by_olaf"):
            self.assertEqual(len(line[way]), 3)
            self.assertGreater(min(wall for wall, _ in line[way]), 0)

    def test_floats_by_two_threads_are_a_line_of_the_table(self):
        table = run("allreduce", *self.WORDS, "--format", "f32", "--threads", "2")
        self.assertRegex(table, r"\n 2 +40K \| .* x \(>= 10\) (reached|missed)\n")
        self.assertRegex(table, r"\n +[1-9]\d* results rode, \d+ left in clones, \d+ were sent again\n$")


class Overrun(unittest.TestCase):
    WORDS = ["--pools", "64", "--bytes", "360000", "--turns", "4"]
    # Of 352 elements each, and a farewell.
    FRAMES = 4 * -(-90_000 // 352) + 1

    def test_one_stream_loses_nothing_in_a_window_that_fits_the_ring(self):
        [line] = lines("overrun", *self.WORDS)
        self.assertEqual((line["workers"], line["frames"], line["lost"], line["lists"]), (1, self.FRAMES, 0, 0))
        self.assertEqual(line["overflowed"], 0)

    def test_first_windows_that_no_ring_holds_together_overflow_it(self):
        # Eight times 64 frames and a ring of 256, whose other end runs only while no worker can.
        [line] = lines("overrun", *self.WORDS, "--workers", "8")
        self.assertEqual(line["frames"], 8 * self.FRAMES)
        self.assertGreater(line["lost"], 0)
        self.assertLessEqual(line["lost"], line["overflowed"], "nothing is lost but where the ring says so")
        self.assertGreaterEqual(line["repeated"], line["lost"])

    def test_what_is_lost_is_compared_with_lists(self):
        [line] = lines("overrun", *self.WORDS, "--workers", "2", "--lose", "5")
        self.assertEqual((line["workers"], line["frames"]), (2, 2 * self.FRAMES))
        self.assertGreater(line["lost"], 0.02 * line["frames"])
        self.assertLess(line["lost"], 0.1 * line["frames"])
        self.assertEqual(line["lists"] - line["lost"], 2)
        self.assertGreaterEqual(line["repeated"], line["lost"])

    def test_a_table_tells_it_too(self):
        self.assertRegex(run("overrun", *self.WORDS), r"\n +1 +64 +0\.00 % \| .* <= 0\.261 % ")


if __name__ == "__main__":
    unittest.main()
