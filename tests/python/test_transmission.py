# SPDX-License-Identifier: BSD-2-Clause
import socket
import struct
import unittest

import olaf
from loopback import SOON


def stamped_ack(version, clusters, capacity, worker=9):
    """docs/protocol.md's ACK for cluster 3, stamped, with a model of two weights."""
    return struct.pack(
        ">HBBHHIIIHHqIIIHH", 0x01AF, 1, 2, 0x030C, 1, 3, worker, 0, clusters, 0, 0, capacity,
        capacity, version, 0, 1,
    ) + struct.pack("<2f", version, version)


class Held(unittest.TestCase):
    def worker(self, **options):
        """A worker that has heard of 10 active clusters and 4 places."""
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(server.close)
        server.bind(("127.0.0.1", 0))
        server.settimeout(SOON)
        worker = olaf.Worker(f"127.0.0.1:{server.getsockname()[1]}", 3, 9, 2, **options)
        worker.push([0, 0])  # by which the server learns the address
        _, address = server.recvfrom(2048)
        server.sendto(stamped_ack(5, 10, 4), address)
        self.assertEqual(worker.wait(SOON)[1], 5)
        return worker

    def test_off_sends_all(self):
        worker = self.worker()
        self.assertTrue(worker.feedback.stamped)
        self.assertTrue(worker.feedback.congested)
        self.assertEqual(worker.feedback.active_clusters, 10)
        self.assertEqual(worker.feedback.queue_capacity, 4)
        self.assertTrue(all(worker.should_send() and worker.push([0, 0]) for _ in range(50)))

    def test_a_pause_after_an_ack(self):
        worker = self.worker(transmission=olaf.PauseAfterAck(3600))
        self.assertFalse(any(worker.should_send() for _ in range(50)))
        worker = self.worker(transmission=olaf.PauseAfterAck(1e-9))
        self.assertTrue(worker.should_send())
        self.assertEqual(repr(olaf.PauseAfterAck(0.5)), "PauseAfterAck(0.5)")
        self.assertEqual(olaf.PauseAfterAck(0.5).seconds, 0.5)
        with self.assertRaisesRegex(ValueError, "give seconds"):
            olaf.PauseAfterAck(0)

    def test_a_seed_repeats(self):
        def draws(random):
            worker = self.worker(transmission=olaf.TransmissionControl(3600, 0), random=random)
            return [worker.should_send() and bool(worker.push([0, 0])) for _ in range(64)]

        self.assertEqual(draws(7), draws(7))
        self.assertNotEqual(draws(7), draws(8))
        self.assertEqual(draws(lambda: 0.399), [True] * 64)
        self.assertEqual(draws(lambda: 0.401), [False] * 64)

    def test_a_function_of_ones_own(self):
        states = []

        def rule(state):
            states.append((state.active_clusters, state.capacity, state.length))
            self.assertGreaterEqual(state.since_ack_s, 0)
            return 0.0

        worker = self.worker(transmission=lambda state: rule(state) if state.capacity else 1.0)
        self.assertFalse(worker.should_send())
        report = worker.push([0, 0])
        self.assertEqual((report.outcome, report.held, bool(report)), ("held", True, False))
        self.assertEqual(states, [(10, 4, 4)] * 2)
        self.assertEqual((worker.stats.held, worker.stats.updates), (2, 1))

    def test_what_it_raises_comes_out(self):
        def rule(state):
            if state.capacity:
                raise LookupError("no idea")
            return 1.0

        worker = self.worker(transmission=rule)
        for ask in (worker.should_send, lambda: worker.push([0, 0])):
            with self.assertRaisesRegex(LookupError, "no idea"):
                ask()

    def test_the_staleness_bound(self):
        worker = self.worker(staleness_bound=2)
        outcomes = [worker.push([0, 0], model_version=each).outcome for each in (5, 3, 2)]
        self.assertEqual(outcomes, ["sent", "sent", "too_stale"])
        self.assertEqual(worker.stats.too_stale, 1)

    def test_wrong_arguments(self):
        for options in ({"transmission": "urgent"}, {"random": "seed"}):
            with self.subTest(options), self.assertRaisesRegex(TypeError, "or a function"):
                olaf.Worker("127.0.0.1", 0, 0, 1, **options)


class Formula(unittest.TestCase):
    def test_is_section_5s(self):
        def probability(control, clusters, capacity, since_ack_s):
            return control(olaf.QueueState(active_clusters=clusters, capacity=capacity,
                                           since_ack_s=since_ack_s))

        urgent, fair = olaf.TransmissionControl.urgent(0.4), olaf.TransmissionControl.fair(0.4)
        self.assertEqual((urgent.slope, fair.slope), (2.5, 0.4))
        self.assertAlmostEqual(probability(urgent, 10, 5, 0.5), 0.75)
        self.assertAlmostEqual(probability(fair, 10, 5, 0.5), 0.54)
        with self.assertRaisesRegex(ValueError, "give seconds"):
            olaf.TransmissionControl.urgent(0)


if __name__ == "__main__":
    unittest.main()
