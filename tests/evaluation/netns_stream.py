# SPDX-License-Identifier: BSD-2-Clause
"""olaf_bench_stream: every contender adds exactly and loses nothing that isn't in its books, or prints no figure.
Needs root."""

import json
import os
import pathlib
import subprocess
import unittest

PROGRAM = pathlib.Path(os.environ["OLAF_BUILD"]) / "bench/stream/olaf_bench_stream"


def stream(*words):
    """Its figures; the program checks sums and books itself and ends with 1 where they are wrong."""
    done = subprocess.run([PROGRAM, *words, "--seconds", "0.1"], text=True, capture_output=True, timeout=60, check=False)
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else done.stderr


class Stream(unittest.TestCase):
    def test_every_contender_sums_what_comes_at_a_gentle_load(self):
        for name in ("forward", "olaf", "xagg", "af_xdp", "udp", "tcp"):
            with self.subTest(name):
                status, figures = stream(name, "--load", "20000", "--apart", "--stamped", "--queue", "9")
                self.assertEqual(status, 0, figures)
                self.assertGreater(figures["taken_per_s"], 0)
                self.assertGreater(figures["latency_ns"]["p50"], 0)
                self.assertGreater(figures["cpu_ns_per_update"], 0)

    def test_all_that_bench_run_compares_shares_one_cpu_and_loses_nothing(self):
        for words in (["drop"], ["xagg"], ["olaf"], ["olaf", "--unmetered"], ["udp"]):
            with self.subTest(words):
                status, figures = stream(*words, "--load", "20000", "--queue", "9")
                self.assertEqual(status, 0, figures)
                self.assertGreater(figures["taken_per_s"], 0)
                self.assertEqual(figures["lost_behind"], 0)

    def test_other_sizes_are_as_exact(self):
        for name in ("olaf", "xagg", "af_xdp", "udp", "tcp"):
            for lanes in ("16", "384"):
                with self.subTest(f"{name}, {lanes} lanes"):
                    status, figures = stream(name, "--load", "20000", "--lanes", lanes, "--queue", "9", "--apart")
                    self.assertEqual(status, 0, figures)

    def test_a_queue_lets_out_the_part_that_was_asked_for(self):
        for name, fold in (("olaf", 1.5), ("fifo", 1.5), ("fifo", 12)):
            with self.subTest(f"{name}, {fold}"):
                status, figures = stream(name, "--lanes", "32", "--queue", "8", "--fold", str(fold), "--within", "0.05", "--load", "200000",
                                         "--apart", "--stamped")
                self.assertEqual(status, 0, figures)
                self.assertAlmostEqual(figures["sent_per_s"] / figures["taken_per_s"], 1 / fold, delta=0.05 / fold)
                folded = {int(count) for count in figures["folds"]}
                self.assertEqual(folded == {1}, name == "fifo", "a FIFO folds nothing")
                self.assertGreater(figures["dropped_per_s"], 0, "eight places, nine clusters")

    def test_updates_at_random_are_in_the_books(self):
        status, figures = stream("olaf", "--load", "20000", "--shuffled", "--queue", "9", "--apart", "--stamped")
        self.assertEqual(status, 0, figures)
        self.assertEqual([cluster["cluster"] for cluster in figures["age_us"]["clusters"]], list(range(9)))
        self.assertGreater(len(figures["folds"]), 1, "no turn gives each message as many")

    def test_four_elements_a_lane_are_as_exact(self):
        status, figures = stream("olaf", "--load", "20000", "--format", "i16x4", "--lanes", "16", "--queue", "9", "--apart")
        self.assertEqual(status, 0, figures)

    def test_two_cpus_fold_into_the_same_clusters(self):
        if os.cpu_count() < 2:
            self.skipTest("one CPU")
        status, figures = stream("olaf", "--cpus", "2", "--common", "--queue", "9", "--load", "20000")
        self.assertEqual(status, 0, figures)

    def test_what_cant_be_measured_is_refused(self):
        status, said = stream("xagg", "--cpus", "2", "--common")
        self.assertEqual(status, 1)
        self.assertIn("one writer for each aggregate", said)
        status, said = stream("udp", "--format", "i16x4")
        self.assertEqual(status, 1)
        self.assertIn("only a queue takes --format i16x4", said)
        status, said = stream("xagg", "--fold", "1.5")
        self.assertEqual(status, 1)
        self.assertIn("--fold that isn't whole", said)
        status, said = stream("nobody")
        self.assertEqual(status, 1)
        self.assertIn("no contender nobody", said)


if __name__ == "__main__":
    unittest.main()
