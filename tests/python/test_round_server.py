# SPDX-License-Identifier: BSD-2-Clause
import threading
import unittest

import numpy as np

import olaf
from loopback import SOON, in_threads

JOB, WORKERS, LANES, ELEMENTS = 5, 2, 9, 40  # pieces of 14, 14 and 12


class RoundServer(unittest.TestCase):
    def serve(self, rule, work):
        """Each worker does work(collective, rank) in its own thread, with a server that this one
        runs until they have ended."""
        server = olaf.RoundServer("127.0.0.1:0", JOB, np.ones(ELEMENTS, np.float32), rule, WORKERS,
                                  LANES, children=WORKERS)

        def all_of_them():
            try:
                in_threads(WORKERS, lambda rank: work(
                    olaf.Collective(server.address, JOB, rank, WORKERS, lanes=LANES, timeout=SOON, run="test"), rank))
            except BaseException as error:
                failures.append(error)
            server.stop()

        failures = []
        workers = threading.Thread(target=all_of_them)
        workers.start()
        try:
            yield server
        finally:
            workers.join()
        for failure in failures:
            raise failure

    def test_gives_the_weights_that_its_rule_makes(self):
        seen = []

        def rule(sum):
            seen.append((sum.round, sum.begin, sum.end, sum.count, sum.partial))
            with self.assertRaises(ValueError):
                sum.gradient[0] = 1
            sum.weights += sum.gradient / sum.count

        def work(job, rank):
            for round in range(3):
                vector = np.full(ELEMENTS, 2 * rank + 1, np.float32)  # 2 in the middle
                job.allreduce(vector)
                self.assertEqual(vector.tolist(), [1 + 2 * (round + 1)] * ELEMENTS)
            self.assertTrue(job.finish())

        for server in self.serve(rule, work):
            server.serve()
            self.assertEqual(server.weights, [7.0] * ELEMENTS)
            self.assertEqual(server.stats.rejected, {})
            self.assertEqual(server.stats.agreed, 1)
        # 8 lanes of two, one of which is for what workers guess.
        self.assertEqual(sorted(seen), [(round, begin, min(begin + 14, ELEMENTS), WORKERS, False)
                                        for round in range(3) for begin in range(0, ELEMENTS, 14)])

    def test_what_a_rule_raises_comes_out_and_it_is_called_again(self):
        calls = []

        def rule(sum):
            calls.append(sum.begin)
            if len(calls) == 2:
                raise KeyError("once")
            sum.weights += sum.gradient

        def work(job, rank):
            vector = np.ones(ELEMENTS, np.float32)
            job.allreduce(vector)
            self.assertEqual(vector.tolist(), [3] * ELEMENTS)

        for server in self.serve(rule, work):
            with self.assertRaisesRegex(KeyError, "once"):
                server.serve()
            server.serve()
        self.assertEqual(len(calls), 4)

    def test_errors_say_what_to_do(self):
        with self.assertRaisesRegex(ValueError, "how many lanes"):
            olaf.RoundServer("127.0.0.1:0", JOB, [1.0], print, 1, 0)
        with self.assertRaisesRegex(ValueError, "'i32x2', 'i16x4' or 'i64x1'"):
            olaf.RoundServer("127.0.0.1:0", JOB, [1.0], print, 1, 9, format="f32")
        with self.assertRaises(TypeError):
            olaf.RoundServer("127.0.0.1:0", JOB, ["one"], print, 1, 9)


if __name__ == "__main__":
    unittest.main()
