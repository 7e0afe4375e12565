# SPDX-License-Identifier: BSD-2-Clause
"""LunarLander's workers behind a queue whose network, or of which one worker, fails. Needs root."""

import json
import os
import pathlib
import re
import subprocess
import time
import unittest

import numpy as np
import olaf
from loopback import SOON
from namespaces import NODE, WORKERS, Namespace, RoundsHost, run

WORKER = pathlib.Path(os.environ["OLAF_BUILD"]) / "examples/lunar_lander/olaf-lunar-lander-worker"
WEIGHTS = np.zeros(2205, np.float32)  # of examples/lunar_lander/network.hpp
JOB, RANKS = 7, 3


class InTrouble(RoundsHost):
    MTU = 9000  # an update is one frame
    SLOTS = 2048

    def start(self, *options):
        """A worker that plays in no time, without an end."""
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.workers, WORKER, "--iterations", "0", "--steps", "64", "--step-us", "0",
             *map(str, options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def answers_go_to(self, mac):
        run("ip", "-n", self.host, "neighbour", "replace", WORKERS, "lladdr", mac, "dev", "in", "nud", "permanent")

    def test_a_worker_without_answers_goes_on_and_takes_the_newest_weights_once_they_come(self):
        versions = []  # of the weights that updates were computed on, as they come
        with Namespace(self.host):
            server = olaf.ParameterServer(NODE, mtu=self.MTU, acknowledge="known")
        server.add_cluster(0, WEIGHTS, rule=lambda update: versions.append(update.model_version),
                           codec=olaf.Codec(scale=2.0**24))

        def handle_until(enough):
            while not enough():
                self.assertGreater(server.receive(SOON), 0, "no update came")

        worker = self.start("--server", NODE)
        handle_until(lambda: len(versions) >= 20)
        mac = json.loads(run("ip", "-n", self.workers, "-j", "link", "show", "eth0"))[0]["address"]
        self.answers_go_to("02:00:00:00:00:77")
        handle_until(lambda: len(versions) >= 60)
        self.answers_go_to(mac)
        lost_until = server.cluster(0).version
        handle_until(lambda: versions[-1] > lost_until)
        worker.terminate()
        said = json.loads(worker.communicate(timeout=SOON)[0])
        self.assertEqual(worker.returncode, 0)
        self.assertGreaterEqual(said["sent"], 60)
        self.assertEqual(said["unsent"], 0)
        self.assertLess(said["acks"], said["sent"])

    def test_in_step_all_end_with_the_rank_that_was_killed(self):
        self.olaf("job", "set", "in", str(JOB), "--children", str(RANKS), "--lanes", "1100")
        workers = [self.start("--sync", NODE, "--job", JOB, "--worker", rank, "--workers-in-all", RANKS,
                              "--timeout", "2") for rank in range(RANKS)]
        end = time.monotonic() + SOON
        while self.contributions() < 10 * RANKS:
            self.assertLess(time.monotonic(), end, "nobody contributes")
        workers[1].kill()
        for rank in (0, 2):
            told = workers[rank].communicate(timeout=SOON)[1]
            self.assertEqual(workers[rank].returncode, 1, told)
            self.assertRegex(told, re.compile(r"rank 1\b"))

    def contributions(self):
        [job] = json.loads(self.olaf("--json", "status", "in"))["jobs"]
        return job["contributions"]["received"]


if __name__ == "__main__":
    unittest.main()
