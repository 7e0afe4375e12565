# SPDX-License-Identifier: BSD-2-Clause
"""Four processes train through a host with Olaf, the kernel's own, in a namespace each. Needs root."""

import unittest

from namespaces import NODE, WORKERS, RoundsHost
from training import expect_same_training, train

LANES = 64


class Torch(RoundsHost):
    def test_four_processes_train_as_with_gloo(self):
        self.olaf("job", "set", "in", "7", "--children", "4", "--lanes", str(LANES))
        summaries = train(self, 4, NODE, ["--steps", "25", "--lanes", str(LANES)],
                          before=lambda rank: ["nsenter", f"--net=/run/netns/{self.workers}", "--"],
                          start=f"{WORKERS}:29500")
        for summary in summaries.values():
            expect_same_training(self, summary)


if __name__ == "__main__":
    unittest.main()
