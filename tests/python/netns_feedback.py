# SPDX-License-Identifier: BSD-2-Clause
"""Workers, an attached queue and a server, each in a namespace: the queue's state comes back in
ACKs, and transmission control acts on it. Needs root."""

import os
import pathlib
import sys
import time
import unittest

import olaf
from loopback import SOON
from namespaces import Namespace

sys.path.append(str(pathlib.Path(__file__).parents[2]))
from evaluation.topology import SERVER, Topology  # noqa: E402

OLAF = pathlib.Path(os.environ["OLAF_BUILD"]) / "loader/olaf"
CLUSTERS, PLACES = 4, 2


class Feedback(unittest.TestCase):
    def test_workers_hold_back_by_what_the_queue_says(self):
        with Topology(str(OLAF), several_hops=False) as topology:
            topology.attach("olaf", "1mbit", {3: PLACES})
            with Namespace(topology.prefix + "server"):
                server = olaf.ParameterServer(SERVER)
            with Namespace(topology.prefix + "fast"):
                workers = [olaf.Worker(SERVER, cluster, 0, 4, random=cluster,
                                       transmission=olaf.TransmissionControl(3600, 0))
                           for cluster in range(CLUSTERS)]
            for cluster in range(CLUSTERS):
                server.add_cluster(cluster, [0.0] * 4)
            self.exchange(server, workers)

            for worker in workers:
                feedback = worker.feedback
                self.assertTrue(feedback.stamped)
                self.assertTrue(feedback.congested)
                self.assertEqual(feedback.queue_capacity, PLACES)
                self.assertLessEqual(feedback.queue_length, PLACES)
                asked = sum(worker.should_send() and bool(worker.push([0.0] * 4))
                            for _ in range(1000))
                self.assertAlmostEqual(asked / 1000, PLACES / CLUSTERS, delta=0.07)

    def exchange(self, server, workers):
        """Until every worker has heard that all clusters are active."""
        end = time.monotonic() + SOON
        while any(worker.feedback.active_clusters < CLUSTERS for worker in workers):
            self.assertLess(time.monotonic(), end, [worker.feedback for worker in workers])
            for worker in workers:
                worker.push([1.0] * 4)
            while server.receive(0.01):
                pass
            for worker in workers:
                worker.poll()


if __name__ == "__main__":
    unittest.main()
