# SPDX-License-Identifier: BSD-2-Clause
import threading
import unittest

import numpy as np

import olaf
from loopback import NEVER, SOON, Loopback


class Rules(Loopback):
    def test_a_function_changes_the_weights(self):
        updates = []

        def rule(update):
            updates.append((update.cluster, update.worker, update.count, update.reward,
                            update.model_version, update.segment, update.segments,
                            update.begin, update.end))
            update.weights += 2 * update.gradient

        server = self.server(rule=rule)
        worker = self.worker(server)
        worker.push([1, 0, -1], 4.5, 1)
        self.handle(server, 1)
        self.assertEqual(worker.wait(SOON)[0].tolist(), [3, 2, 1])
        self.assertEqual(updates, [(3, 9, 1, 4.5, 1, 0, 1, 0, 3)])

    def test_a_function_may_leave_them_alone(self):
        server = self.server(rule=lambda update: False)
        skipping = self.server(rule=lambda update: update.skip())
        for each in (server, skipping):
            self.worker(each).push([1, 1, 1])
            self.handle(each, 1)
            cluster = each.cluster(3)
            self.assertEqual((cluster.messages, cluster.applied, cluster.version), (1, 0, 1))

    def test_what_it_raises_comes_out_and_loses_no_other_update(self):
        def rule(update):
            if update.reward == 13:
                raise ZeroDivisionError("thirteen")
            update.weights[0] += 1

        server = self.server(weights=[0.0], rule=rule)
        worker = self.worker(server, elements=1)
        for reward in (1, 13, 2, 3):
            worker.push([0], reward)
        with self.assertRaisesRegex(ZeroDivisionError, "thirteen"):
            self.handle(server, 4)
        self.handle(server, 2)
        self.assertEqual(server.cluster(3).weights.tolist(), [3])

    def test_weights_can_be_assigned(self):
        def rule(update):
            update.weights = [7, 8, 9]
            with self.assertRaises(ValueError):
                update.weights = [1, 2]
            with self.assertRaises(ValueError):
                update.gradient[0] = 1

        server = self.server(rule=rule)
        self.worker(server).push([0, 0, 0])
        self.handle(server, 1)
        self.assertEqual(server.cluster(3).weights.tolist(), [7, 8, 9])

    def test_the_papers_rule_applies_improvements_only(self):
        server = self.server(weights=[0.0], rule="paper")
        worker = self.worker(server, elements=1)
        for reward in (5, 4, 6):
            worker.push([1], reward)
        self.handle(server, 3)
        self.assertEqual(server.cluster(3).applied, 2)


class Loop(Loopback):
    def test_gives_each_update_and_answers_it_after(self):
        server = self.server(rule="paper")
        worker = self.worker(server)
        for reward in (5, 4, 3):  # the paper's rule would refuse two of them
            worker.push([1, 1, 1], reward)
        rewards = []
        for update in server:
            rewards.append(update.reward)
            self.assertIsNone(worker.poll() if len(rewards) == 1 else None)
            if len(rewards) == 2:
                update.skip()
            else:
                update.weights += update.gradient
            if len(rewards) == 3:
                break
        self.assertEqual(rewards, [5, 4, 3])
        cluster = server.cluster(3)  # which the last one is done with
        self.assertEqual(cluster.weights.tolist(), [3, 4, 5])
        self.assertEqual((cluster.messages, cluster.applied), (3, 2))
        while worker.model_version < 3:
            self.assertIsNotNone(worker.wait(SOON))
        self.assertEqual(worker.weights.tolist(), [3, 4, 5])

    def test_ends_in_time(self):
        server = self.server()
        self.assertIsNone(server.next(NEVER))
        self.worker(server).push([1, 1, 1])
        self.assertEqual(server.next(SOON).worker, 9)
        self.assertIsNone(server.next(NEVER))

    def test_an_update_outlives_its_server(self):
        server = self.server()
        self.worker(server).push([1, 2, 3])
        update = server.next(SOON)
        del server
        self.assertEqual(update.gradient.tolist(), [1, 2, 3])


class Server(Loopback):
    def test_serves_until_stopped(self):
        server = self.server()
        worker = self.worker(server)
        serving = threading.Thread(target=server.serve)
        serving.start()
        try:
            self.assertEqual(worker.join(SOON)[1], 1)
        finally:
            server.stop()
            serving.join(SOON)
        self.assertFalse(serving.is_alive())
        server.serve(NEVER)

    def test_answers_whom_it_is_told_to(self):
        for acknowledge, reached in (("sender", 1), ("known", 2), ("cluster", 1)):
            server = self.server(acknowledge=acknowledge)
            first, second = self.worker(server, worker=1), self.worker(server, worker=2)
            first.push([1, 1, 1])
            self.handle(server, 1)
            self.assertIsNotNone(first.wait(SOON))
            second.push([1, 1, 1])
            self.handle(server, 1)
            self.assertIsNotNone(second.wait(SOON))
            both = first.wait(SOON if reached == 2 else NEVER) is not None
            self.assertEqual(both, reached == 2, acknowledge)

    def test_large_models_travel_in_segments(self):
        elements = 5003
        server = olaf.ParameterServer("127.0.0.1:0")
        codec = olaf.Codec(format="i16x4", scale=32.0)
        server.add_cluster(0, np.zeros(elements), lambda update: slices.append(
            (update.segment, update.begin, update.end)), codec=codec)
        slices = []
        worker = olaf.Worker(server.address, 0, 1, elements, codec=codec)
        segments = worker.push(np.ones(elements)).segments
        self.handle(server, segments)
        self.assertEqual([each[0] for each in slices], list(range(segments)))
        self.assertEqual([each[1] for each in slices], [0] + [each[2] for each in slices[:-1]])
        self.assertEqual(slices[-1][2], elements)

    def test_errors_say_what_to_do(self):
        server = self.server()
        with self.assertRaisesRegex(OSError, "is another parameter server running"):
            olaf.ParameterServer(server.address)
        with self.assertRaisesRegex(ValueError, "it exists already"):
            server.add_cluster(3, [1.0])
        with self.assertRaisesRegex(ValueError, "give it initial weights"):
            server.add_cluster(4, [])
        with self.assertRaisesRegex(ValueError, "'sgd', 'paper', or a function"):
            server.add_cluster(4, [1.0], "adam")
        with self.assertRaisesRegex(TypeError, "'sgd', 'paper', or a function"):
            server.add_cluster(4, [1.0], 7)
        with self.assertRaisesRegex(ValueError, "choose 'sender', 'known'"):
            olaf.ParameterServer("127.0.0.1:0", acknowledge="nobody")
        with self.assertRaisesRegex(KeyError, r"add_cluster\(\) makes one"):
            server.cluster(4)


if __name__ == "__main__":
    unittest.main()
