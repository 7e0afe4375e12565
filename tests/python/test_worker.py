# SPDX-License-Identifier: BSD-2-Clause
import threading
import unittest

import numpy as np

import olaf
from loopback import NEVER, SOON, Loopback


class Worker(Loopback):
    def test_joins_pushes_and_learns(self):
        server = self.server()
        worker = self.worker(server)
        self.assertFalse(worker.has_weights)
        self.assertIsNone(worker.poll())
        self.assertIsNone(worker.wait(NEVER))

        serving = threading.Thread(target=self.handle, args=(server, 1))
        serving.start()
        weights, version = worker.join(SOON)
        serving.join()
        self.assertEqual(weights.tolist(), [1, 2, 3])
        self.assertEqual(version, 1)

        report = worker.push(np.array([2, -4, 0.25], np.float32), reward=10.0, model_version=1)
        self.assertTrue(report)
        self.assertEqual((report.outcome, report.held, report.sequence), ("sent", False, 1))
        self.handle(server, 1)
        weights, version = worker.wait(SOON)
        self.assertEqual(weights.tolist(), [2, 0, 3.125])
        self.assertEqual((version, worker.model_version), (2, 2))
        self.assertEqual(worker.report.answered, 1)
        self.assertEqual(worker.report.version_lag, 1)
        self.assertGreater(worker.report.round_trip_ns, 0)
        self.assertGreater(worker.report.update_age_ns, 0)
        self.assertEqual(worker.feedback.sequence, 1)
        self.assertFalse(worker.feedback.stamped)
        self.assertEqual(worker.stats.updates, 1)
        self.assertEqual(worker.stats.rejected, {})

    def test_the_model_version_is_the_newest_by_default(self):
        seen = []
        server = olaf.ParameterServer("127.0.0.1:0")
        server.add_cluster(3, [0, 0, 0], lambda update: seen.append(update.model_version),
                           first_version=7)
        worker = self.worker(server)
        worker.push([0, 0, 0])
        self.handle(server, 1)
        self.assertEqual(worker.wait(SOON)[1], 8)
        worker.push([0, 0, 0])
        worker.push([0, 0, 0], model_version=5)
        self.handle(server, 2)
        self.assertEqual(seen, [0, 8, 5])

    def test_rounds_as_it_is_asked_to(self):
        def pushed(gradient, times=1, **options):
            codec, seen = olaf.Codec(scale=1.0), []
            server = olaf.ParameterServer("127.0.0.1:0")
            server.add_cluster(3, np.zeros(len(gradient)), codec=codec,
                               rule=lambda update: seen.append(update.gradient.tolist()))
            worker = self.worker(server, elements=len(gradient), codec=codec, **options)
            for _ in range(times):
                worker.push(np.array(gradient, np.float32))
            self.handle(server, times)
            return worker, seen

        worker, seen = pushed([0.25, 1, -0.375], 3, error_feedback=True)
        self.assertEqual(np.sum(seen, 0).tolist(), [1, 3, -1])
        self.assertEqual(worker.stats.largest, 1)
        one, same, other = (pushed([0.5] * 64, stochastic_rounding=True, rounding_seed=seed)[1]
                            for seed in (1, 1, 2))
        self.assertEqual(set(sum(one + other, [])), {0, 1})
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)

    def test_weights_are_one_read_only_view(self):
        server = self.server()
        worker = self.worker(server)
        before = worker.weights
        self.assertEqual(before.tolist(), [0, 0, 0])
        worker.push([0, 0, 0])
        self.handle(server, 1)
        after, _ = worker.wait(SOON)
        self.assertEqual(before.tolist(), [1, 2, 3], "no copy: it shows what came")
        self.assertTrue(np.shares_memory(before, after))
        self.assertFalse(after.flags.writeable)
        with self.assertRaises(ValueError):
            after[0] = 1
        del worker
        self.assertEqual(before.tolist(), [1, 2, 3], "the view keeps the worker's memory")

    def test_reports_what_packing_lost(self):
        worker = self.worker(self.server())
        report = worker.push([float("nan"), 1e9, 0])
        self.assertEqual((report.nans, report.clipped), (1, 1))
        self.assertEqual((worker.stats.nans, worker.stats.clipped), (1, 1))

    def test_two_threads_share_a_worker(self):
        server = self.server()
        worker = self.worker(server)
        arrived = []
        waiting = threading.Thread(target=lambda: arrived.append(worker.wait(SOON)))
        waiting.start()
        worker.push([2, 2, 2])  # while the other one waits
        self.handle(server, 1)
        waiting.join()
        self.assertEqual(arrived[0][1], 2)

    def test_errors_say_what_to_do(self):
        server = self.server()
        worker = self.worker(server)
        with self.assertRaisesRegex(ValueError, "it has 2 elements, the model 3"):
            worker.push([1, 2])
        with self.assertRaisesRegex(ValueError, "its reward isn't a number"):
            worker.push([1, 2, 3], reward=float("nan"))
        self.assertEqual(worker.stats.updates, 0)
        with self.assertRaisesRegex(ValueError, "every worker"):
            self.worker(server, worker=olaf.EVERY_WORKER)
        with self.assertRaisesRegex(ValueError, r"write ADDR\[:PORT\]"):
            olaf.Worker("127.0.0.1:x", 0, 0, 1)
        with self.assertRaisesRegex(ValueError, "nowhere.invalid"):
            olaf.Worker("nowhere.invalid", 0, 0, 1)
        with self.assertRaisesRegex(ValueError, "0 or more, or None"):
            worker.wait(-1)
        with self.assertRaisesRegex(ValueError, "0 or more, or None"):
            worker.wait(float("nan"))
        with self.assertRaisesRegex(TimeoutError, "of cluster 3 from 127.0.0.1:.*is the parameter server"):
            worker.join(0.01)


if __name__ == "__main__":
    unittest.main()
