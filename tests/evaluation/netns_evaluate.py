# SPDX-License-Identifier: BSD-2-Clause
"""scripts/evaluate, run for the least that makes a result: files, page, books, and nothing left. Needs root."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest
from unittest import mock

from evaluation import topology

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ["OLAF_BUILD"]


def evaluate(*words):
    """Returns its status, what it said on both streams, and its process id."""
    process = subprocess.Popen([ROOT / "scripts/evaluate", *words], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    said = process.communicate()[0]
    return process.returncode, said, process.pid


class Evaluate(unittest.TestCase):
    def test_an_experiment_leaves_its_files_and_nothing_else(self):
        with tempfile.TemporaryDirectory() as folder:
            results, page = pathlib.Path(folder) / "results", pathlib.Path(folder) / "evaluation.md"
            status, said, pid = evaluate("microbenchmark", "--brief", "--runs", "1", "--build", BUILD, "--results", results,
                                         "--page", page)
            self.assertEqual(status, 0, said)
            self.assertIn("60 : 20, fifo, 1 runs", said)

            found = json.loads((results / "microbenchmark.json").read_text(encoding="utf-8"))
            self.assertEqual(found["mode"], "native")
            rows = {row["contender"]: row for row in found["rows"]}
            for row in rows.values():
                self.assertEqual(row["unaccounted"], 0, "every update is in the books")
            self.assertGreater(rows["fifo"]["lost_percent"]["median"], rows["olaf"]["lost_percent"]["median"])
            self.assertEqual(rows["olaf, auto"]["lost_percent"]["median"], 0, "nine places for nine clusters")
            self.assertGreater(rows["olaf"]["folded_percent"]["median"], 0)

            for picture in ("microbenchmark.png", "microbenchmark-clusters.png", "microbenchmark-folds.png"):
                self.assertEqual((results / picture).read_bytes()[:4], b"\x89PNG")
                self.assertTrue((page.parent / f"evaluation-{picture}").exists(), picture)
                self.assertIn(f"(evaluation-{picture})", page.read_text(encoding="utf-8"))
            before = page.read_text(encoding="utf-8")
            (page.parent / "evaluation-microbenchmark.png").unlink()
            page.unlink()
            status, said, _ = evaluate("--redraw", "microbenchmark", "--results", results, "--page", page)
            self.assertEqual(status, 0, said)
            self.assertEqual(page.read_text(encoding="utf-8"), before, "a result says all that its section does")
            self.assertTrue((page.parent / "evaluation-microbenchmark.png").exists())
            self.assertEqual(list(results.glob("*.trace")), [], "traces are taken away")
            spaces = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
            self.assertNotIn(f"olaf{pid}-", spaces)

    def brief(self, name, pictures):
        """The result of an experiment's least, whose files are there, and nothing else is."""
        with tempfile.TemporaryDirectory() as folder:
            results, page = pathlib.Path(folder) / "results", pathlib.Path(folder) / "evaluation.md"
            status, said, pid = evaluate(name, "--brief", "--runs", "1", "--build", BUILD, "--results", results, "--page", page)
            self.assertEqual(status, 0, said)
            self.assertEqual({path.name for path in results.iterdir()}, {f"{name}.json", *pictures})
            for picture in pictures:
                self.assertIn(f"(evaluation-{picture})", page.read_text(encoding="utf-8"))
            spaces = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
            self.assertNotIn(f"olaf{pid}-", spaces)
            return json.loads((results / f"{name}.json").read_text(encoding="utf-8"))

    @unittest.skipUnless((pathlib.Path(BUILD) / "examples/lunar_lander").exists(), "the build has no Box2D")
    def test_reward_trains_through_native_queues_whose_books_are_exact(self):
        found = self.brief("reward", ["reward-modes.png", "reward-workers.png", "reward-queues.png", "reward-ablations.png"])
        self.assertEqual(found["mode"], "native")
        for runs in found["rows"].values():
            self.assertEqual(len(runs[0]["curve"]), found["iterations"])
        olaf, fifo = (found["rows"][f"{policy}, loss of 74 %"][0] for policy in ("olaf", "fifo"))
        self.assertGreater(fifo["lost_percent"], olaf["lost_percent"])

    def test_iswitch_sums_by_three_ways_over_links(self):
        found = self.brief("iswitch", ["iswitch.png"])
        self.assertEqual(found["mode"], "native")
        for name, bound in found["rows"][0]["bounds_ms"].items():
            self.assertGreater(found["rows"][0]["ms"][name]["median"], bound * 0.5, "no link is faster than it is")

    @unittest.skipUnless((pathlib.Path(BUILD) / "libexec/olaf/olaf-plan").exists(), "the build has no Clp and Z3")
    def test_plans_are_compared_and_rejected_runs_are_played_through_a_real_queue(self):
        found = self.brief("plans", ["plans.png"])
        for rows in found["networks"].values():
            self.assertLess(rows["goat"]["traffic"][0], rows["esa"]["traffic"][0])
            self.assertLess(rows["esa"]["traffic"][0], rows["flat"]["traffic"][0])
        self.assertEqual([case["verdict"] for case in found["admission"].values()], ["admitted", "rejected", "rejected"])
        for case in found["admission"].values():
            self.assertEqual("replayed_ms" in case, case["verdict"] == "rejected")

    @unittest.skipUnless((pathlib.Path(BUILD) / "examples/lunar_lander").exists(), "the build has no Box2D")
    def test_interrupted_in_a_training_it_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            results = pathlib.Path(folder) / "results"
            command = [ROOT / "scripts/evaluate", "reward", "--brief", "--runs", "1", "--build", BUILD,
                       "--results", results, "--page", pathlib.Path(folder) / "page.md"]
            # A group of its own, as a terminal has one for a command: Ctrl-C goes to all of it.
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  start_new_session=True) as process:
                said = b""
                while b", 1 of " not in said:
                    piece = os.read(process.stdout.fileno(), 4096)
                    self.assertTrue(piece, said)
                    said += piece
                os.killpg(process.pid, signal.SIGINT)
                said += process.stdout.read()
            self.assertEqual(process.returncode, 130, said)
            self.assertNotIn(b"Traceback", said)
            self.assertEqual(list(results.iterdir()), [])
            with self.assertRaises(ProcessLookupError, msg="a program of the experiment goes on"):
                os.killpg(process.pid, 0)
            spaces = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
            self.assertNotIn(f"olaf{process.pid}-", spaces)

    def test_a_namespace_that_was_just_made_when_ctrl_c_came_goes_too(self):
        made, run = [], topology.run

        def interrupted(*command):
            run(*command)
            if command[:3] == ("ip", "netns", "add"):
                made.append(command[3])
                raise KeyboardInterrupt

        with mock.patch("evaluation.topology.run", interrupted), self.assertRaises(KeyboardInterrupt), topology.Line("olaf"):
            pass
        self.assertEqual([pathlib.Path("/run/netns", name).exists() for name in made], [False])

    def test_what_there_is_not_is_refused_before_anything_runs(self):
        status, said, _ = evaluate("nothing")
        self.assertEqual(status, 1)
        self.assertIn("no experiment is called 'nothing'; there are microbenchmark,", said)

    def test_a_build_that_is_not_there_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            status, said, _ = evaluate("updates", "--brief", "--build", folder, "--results", folder, "--page",
                                       pathlib.Path(folder) / "page.md")
        self.assertEqual(status, 1)
        self.assertIn("loader/olaf isn't there; run: cmake --preset release && ninja -C", said)


if __name__ == "__main__":
    unittest.main()
