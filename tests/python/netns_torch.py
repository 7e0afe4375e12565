# SPDX-License-Identifier: BSD-2-Clause
"""Four processes train through a host with Olaf, the kernel's own, in a namespace each. Needs root."""

import os
import subprocess
import unittest

from training import expect_same_training, train

OLAF = os.path.join(os.environ["OLAF_BUILD"], "loader", "olaf")
LANES = 64
NODE, WORKERS = "10.65.24.2", "10.65.24.1"


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


class Torch(unittest.TestCase):
    """Workers in `workers`, at eth0; the host in `host`, whose device `in` has a queue for rounds."""

    def space(self, name):
        """A namespace, for the time of the test."""
        full = f"olaf{os.getpid()}-{name}"
        run("ip", "netns", "add", full)
        self.addCleanup(run, "ip", "netns", "delete", full)
        run("ip", "-n", full, "link", "set", "lo", "up")
        return full

    def olaf(self, *words):
        return run(OLAF, "--netns", self.host, *words)

    def setUp(self):
        self.workers, self.host = self.space("workers"), self.space("host")
        run("ip", "link", "add", "eth0", "netns", self.workers, "type", "veth", "peer", "name", "in",
            "netns", self.host)
        for space, device, address in ((self.workers, "eth0", WORKERS), (self.host, "in", NODE)):
            # A native redirect into a veth needs NAPI at the far end, which GRO brings.
            run("nsenter", f"--net=/run/netns/{space}", "--", "ethtool", "-K", device, "gro", "on")
            run("ip", "-n", space, "address", "add", f"{address}/24", "dev", device)
            run("ip", "-n", space, "link", "set", device, "up")
        self.olaf("attach", "in", "--local", "--round-slots", "64")
        self.addCleanup(self.olaf, "detach", "in", "--force")

    def test_four_processes_train_as_with_gloo(self):
        self.olaf("job", "set", "in", "7", "--children", "4", "--lanes", str(LANES))
        summaries = train(self, 4, NODE, ["--steps", "25", "--lanes", str(LANES)],
                          before=lambda rank: ["nsenter", f"--net=/run/netns/{self.workers}", "--"],
                          start=f"{WORKERS}:29500")
        for summary in summaries.values():
            expect_same_training(self, summary)


if __name__ == "__main__":
    unittest.main()
