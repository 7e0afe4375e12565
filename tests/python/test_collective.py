# SPDX-License-Identifier: BSD-2-Clause
import os
import subprocess
import threading
import unittest

import numpy as np

import olaf

SERVER = os.path.join(os.environ["OLAF_BUILD"], "tests", "unit", "olaf_round_server")
JOB = 5  # the server's


class Collective(unittest.TestCase):
    def all(self, workers, work, **options):
        """Each worker does work(collective, rank) in its own thread."""
        jobs = str(options.get("threads", 1))
        with subprocess.Popen([SERVER, str(workers), jobs], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as server:
            address = server.stdout.readline().strip()
            failures = []

            def run(rank):
                try:
                    work(olaf.Collective(address, JOB, rank, workers, timeout=20, **options), rank)
                except BaseException as error:
                    failures.append(error)

            threads = [threading.Thread(target=run, args=(rank,)) for rank in range(workers)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            server.stdin.close()
        for failure in failures:
            raise failure

    def test_sums_in_place(self):
        def work(job, rank):
            job.join()
            for dtype in (np.float32, np.int64, np.int32):
                vector = np.arange(1000, dtype=dtype).reshape(10, 100) + rank
                report = job.allreduce(vector)
                np.testing.assert_allclose(vector.ravel(), np.arange(1000) * 3 + 3, rtol=1e-6)
                self.assertEqual((report.least_count, report.partial, report.late), (3, 0, 0))
            self.assertEqual(job.stats.missed, 0)
            self.assertEqual(job.stats.rejected, {})
            self.assertGreater(job.fileno(), 0)

        self.all(3, work)

    def test_threads_sum_a_range_each(self):
        def work(job, rank):
            job.join()
            vectors = [np.arange(size, dtype=np.float32) + rank for size in (1, 1000, 12345)]
            for each in [job.allreduce_async(vector) for vector in vectors]:
                self.assertEqual(each.wait().least_count, 2)
            for vector in vectors:
                np.testing.assert_allclose(vector, 2 * np.arange(vector.size) + 1, rtol=1e-6)
            self.assertTrue(job.leave())

        self.all(2, work, threads=2)

    def test_several_are_under_way_and_hold_their_arrays(self):
        def work(job, rank):
            sums = []
            kept = []
            for size in (5, 3000, 70):
                vector = np.ones(size, np.float32)
                kept.append(vector[1:4])
                sums.append(job.allreduce_async(vector))
                del vector
            self.assertEqual([each.wait().not_finite for each in sums], [0, 0, 0])
            self.assertTrue(all(each.done for each in sums))
            self.assertEqual([each.tolist() for each in kept], [[2, 2, 2]] * 3)
            with self.assertRaisesRegex(ValueError, "waited for already"):
                sums[0].wait()

        self.all(2, work)

    def test_the_mean_of_floats(self):
        def work(job, rank):
            vector = np.arange(500, dtype=np.float32) + 3 * rank
            job.allreduce(vector, op="mean")
            np.testing.assert_array_equal(vector, np.arange(500) + 3)
            with self.assertRaisesRegex(TypeError, "float32 only, not of int64"):
                job.allreduce(np.zeros(3, np.int64), op="mean")
            with self.assertRaisesRegex(ValueError, "'sum' or 'mean', not 'max'"):
                job.allreduce(vector, op="max")

        self.all(3, work)

    def test_whoever_leaves_has_helped_all(self):
        def work(job, rank):
            vector = np.ones(100, np.float32)
            job.allreduce(vector)
            self.assertTrue(job.leave())
            with self.assertRaisesRegex(ValueError, "has left"):
                job.allreduce(vector)

        self.all(2, work)

    def test_while_a_thread_waits_another_begins_a_sum(self):
        begun = threading.Barrier(2, timeout=20)

        def work(job, rank):
            job.join()
            first, second = np.ones(10, np.int64), np.full(10, 2, np.int64)
            if rank == 1:
                begun.wait()  # until both sums of the other are under way
                job.allreduce(first)
                job.allreduce(second)
                return
            waiting = job.allreduce_async(first)
            thread = threading.Thread(target=waiting.wait)
            thread.start()
            other = job.allreduce_async(second)  # not held up by who waits
            begun.wait()
            other.wait()
            thread.join()
            self.assertEqual((first.tolist(), second.tolist()), ([2] * 10, [4] * 10))

        self.all(2, work)

    def test_errors_say_what_to_do(self):
        job = olaf.Collective("127.0.0.1:9", JOB, 0, 2, timeout=0.02)
        with self.assertRaisesRegex(TimeoutError, "the node hasn't answered"):
            job.join()
        with self.assertRaisesRegex(TimeoutError, "join"):
            job.allreduce(np.zeros(3, np.float32))
        with self.assertRaisesRegex(TypeError, "share its memory"):
            job.allreduce([1.0, 2.0])
        with self.assertRaisesRegex(TypeError, "float32, int64 or int32, not float64"):
            job.allreduce(np.zeros(3))
        with self.assertRaisesRegex(ValueError, "contiguous"):
            job.allreduce(np.zeros(6, np.float32)[::2])
        with self.assertRaisesRegex(ValueError, "a writable and contiguous array"):
            job.allreduce(np.float32(1))  # a copy would be summed, and thrown away
        with self.assertRaisesRegex(ValueError, "writable"):
            job.allreduce(np.broadcast_to(np.float32(1), 1))
        with self.assertRaisesRegex(ValueError, "'i16x4', 'i64x1' or 'f32', not 'f64'"):
            olaf.Collective("127.0.0.1", JOB, 0, 2, format="f64")
        self.assertGreater(olaf.Collective("127.0.0.1", JOB, 0, 2, format="f32").fileno(), 0)
        with self.assertRaisesRegex(ValueError, "1 to 64 threads"):
            olaf.Collective("127.0.0.1", JOB, 0, 2, threads=0)
        with self.assertRaisesRegex(ValueError, "how many workers"):
            olaf.Collective("127.0.0.1", JOB, 0, 0)


if __name__ == "__main__":
    unittest.main()
