# SPDX-License-Identifier: BSD-2-Clause
import os
import threading
import unittest
import unittest.mock

import numpy as np

import olaf
from loopback import JOB, SOON, Node, in_threads


class Copies:
    def __array__(self, *_):
        return np.ones(10, np.float32)


class Collective(unittest.TestCase):
    def all(self, workers, work, absent=(), **options):
        """Each worker does work(collective, rank) in its own thread."""
        with Node(workers, options.get("threads", 1), *absent) as node:
            in_threads(workers, lambda rank: work(
                olaf.Collective(node, JOB, rank, workers, timeout=SOON, run="test", **options), rank))

    def test_sums_in_place(self):
        def work(job, rank):
            job.start()
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
            job.start()
            vectors = [np.arange(size, dtype=np.float32) + rank for size in (1, 1000, 12345)]
            for each in [job.allreduce_async(vector) for vector in vectors]:
                self.assertEqual(each.wait().least_count, 2)
            for vector in vectors:
                np.testing.assert_allclose(vector, 2 * np.arange(vector.size) + 1, rtol=1e-6)
            self.assertTrue(job.finish())

        self.all(2, work, threads=2)

    def test_threads_start_and_finish_in_all_their_jobs_at_once(self):
        def work(rank):
            if rank == 0:
                job = olaf.Collective(node, JOB, 0, 2, threads=2, timeout=SOON, run="test")
                job.start()
                self.assertTrue(job.finish())
                return
            jobs = [olaf.Collective(node, number, 1, 2, timeout=SOON, run="test") for number in (JOB + 1, JOB)]
            for job in jobs:
                job.start()
            for job in jobs:
                self.assertTrue(job.finish())

        with Node(2, 2) as node:
            in_threads(2, work)

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

    def test_int32_that_do_not_fit_are_an_error_at_all_and_the_next_sum_goes_on(self):
        def work(job, rank):
            with self.assertRaisesRegex(ValueError, "doesn't fit into 32 bits; give int64"):
                job.allreduce(np.array([10, 2**31 - 1, 1], np.int32))
            vector = np.array([10, 2**31 - 1 - rank, -(2**31)], np.int32) * np.int32(rank == 1)
            job.allreduce(vector)
            self.assertEqual(vector.tolist(), [10, 2**31 - 2, -(2**31)])

        self.all(2, work)

    def test_a_sum_of_more_workers_than_were_said_is_an_error(self):
        def work(rank):
            with self.assertRaisesRegex(ValueError, "of 2 workers, .* told that there are 1"):
                job = olaf.Collective(node, JOB, rank, 1, timeout=SOON, run="test")
                job.allreduce(np.ones(9, np.float32))

        with Node(2) as node:
            in_threads(2, work)

    def test_whoever_finishes_has_helped_all(self):
        def work(job, rank):
            vector = np.ones(100, np.float32)
            job.allreduce(vector)
            self.assertTrue(job.finish())
            with self.assertRaisesRegex(ValueError, "has finished"):
                job.allreduce(vector)

        self.all(2, work)

    def test_while_a_thread_waits_another_begins_a_sum(self):
        begun = threading.Barrier(2, timeout=20)

        def work(job, rank):
            job.start()
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

    def test_a_worker_that_comes_and_goes_is_in_the_sums_between(self):
        own, after = 10, 50  # rounds of the one that comes, and of the others once it has left
        counts, last, first = {0: [], 1: []}, float("inf"), 0

        def total(job, rank):
            """How many workers were in the sum of one vector, which is right."""
            vector = np.full(63, 10**rank)
            report = job.allreduce(vector)
            self.assertEqual((report.partial, report.late), (0, 0))
            np.testing.assert_array_equal(vector, {2: 11, 3: 111}[report.least_count])
            return report.least_count

        def come_and_go(job):
            nonlocal first, last
            first = job.join()
            last = first + own + after  # before it sums, and so before the others pass `first`
            self.assertEqual([total(job, 2) for _ in range(own)], [3] * own)
            self.assertIs(job.leave(timeout=SOON), True, "the others went on, so nobody needs it")
            with self.assertRaisesRegex(Exception, r"has left it.*join\(\)"):
                job.allreduce(np.ones(63, np.int64))

        def work(job, rank):
            nonlocal last
            if rank == 2:
                try:
                    return come_and_go(job)
                except BaseException:
                    last = 0  # the others needn't go on
                    raise
            job.start()
            while len(counts[rank]) < last:
                counts[rank].append(total(job, rank))

        self.all(3, work, absent=[2])
        expected = [2] * first + [3] * own + [2] * after
        self.assertEqual(counts, {0: expected, 1: expected})

    def test_a_training_needs_a_name_and_may_have_torchruns(self):
        launchers = {name: "" for name in ("TORCHELASTIC_RUN_ID", "SLURM_JOB_ID")}
        with unittest.mock.patch.dict(os.environ, launchers):
            with self.assertRaisesRegex(ValueError, r"in Python run=\.\.\., the same at all workers"):
                olaf.Collective("127.0.0.1:9", JOB, 0, 2)
            os.environ["TORCHELASTIC_RUN_ID"] = "abc"
            olaf.Collective("127.0.0.1:9", JOB, 0, 2)

    def test_another_training_is_told_whose_the_job_is(self):
        def rule(sum):
            sum.weights += sum.gradient

        server = olaf.RoundServer("127.0.0.1:0", JOB, [1.0], rule, 1, 9)
        pinned = olaf.RoundServer("127.0.0.1:0", JOB, [1.0], rule, 1, 9, run="first", run_number=2)
        serving = [threading.Thread(target=each.serve) for each in (server, pinned)]
        for thread in serving:
            thread.start()
        try:
            def worker(at, **run):
                return olaf.Collective(at.address, JOB, 0, 1, lanes=9, timeout=SOON, **run)

            first = worker(server, run="first", run_number=1)
            first.start()
            with self.assertRaisesRegex(ValueError, "in use by another run.*rank 0, for 60 s more"):
                worker(server, run="other").start()
            worker(server, run="first", run_number=2).start()
            with self.assertRaisesRegex(ValueError, "a later run of this training .number 2, this"):
                first.allreduce(np.ones(1, np.float32))
            with self.assertRaisesRegex(ValueError, "the job was set for another run"):
                worker(pinned, run="first", run_number=3).start()
            worker(pinned, run="first", run_number=2).start()
        finally:
            server.stop()
            pinned.stop()
            for thread in serving:
                thread.join()

    def test_former_names_tell_the_new_ones(self):
        job = olaf.Collective("127.0.0.1:9", JOB, 0, 2, run="test")
        with self.assertRaisesRegex(AttributeError, r"join_running\(\) is Collective\.join\(\) now"):
            job.join_running()
        with self.assertRaisesRegex(AttributeError, r"depart\(\) is Collective\.leave\(\) now"):
            job.depart(timeout=1)
        with self.assertRaisesRegex(AttributeError, "no attribute 'nonsense'"):
            job.nonsense()

    def test_join_and_leave_in_place_of_start_and_finish_say_so(self):
        with Node(2) as node:
            with self.assertRaisesRegex(TimeoutError, r"start\(\) at every worker"):
                olaf.Collective(node, JOB, 0, 2, timeout=0.1, run="test").join()

        def work(job, rank):
            job.start()
            job.allreduce(np.ones(10, np.int64))
            self.assertTrue(job.leave(timeout=SOON))
            with self.assertRaisesRegex(ValueError, r"called leave\(\) in place of finish\(\)"):
                job.start()

        self.all(2, work)

    def test_a_start_in_the_middle_is_told_to_the_others_and_mixes_nothing(self):
        # As after Ctrl-C in one of two notebooks.
        def work(job, rank):
            for session in range(2):
                job.start()
                for step in range(3):
                    given = 10 * session + step
                    vector = np.full(2000, given + rank, np.int64)
                    job.allreduce(vector)
                    np.testing.assert_array_equal(vector, 2 * given + 1)
                if session == 0 and rank == 0:
                    with self.assertRaisesRegex(ValueError, "rank 1 has begun anew"):
                        job.allreduce(np.ones(2000, np.int64))

        self.all(2, work)
        self.all(2, work, threads=2)

    def test_threads_without_an_order_are_refused(self):
        def work(job, rank):
            job.start()
            one, other = np.ones(10, np.int64), np.ones(10, np.int64)
            job.allreduce(one)

            def sum_other():
                nonlocal refused
                try:
                    job.allreduce(other)
                except ValueError as error:
                    refused = str(error)

            for is_refused in (True, False):
                refused = None
                if not is_refused:
                    job.start()  # all begin together again, and nothing is under way
                thread = threading.Thread(target=sum_other)
                thread.start()
                thread.join()
                self.assertEqual("let one thread begin all sums" in str(refused), is_refused)
            np.testing.assert_array_equal(other, 2)
            job.allreduce(one)  # the other thread has ended
            np.testing.assert_array_equal(one, 4)

        self.all(2, work)

    def test_an_array_that_is_let_go_may_use_the_collective(self):
        def work(job, rank):
            class Owner(bytearray):
                """Of an array's memory. A tensor lets other threads in at this point."""

                def __del__(self):
                    later.append(job.allreduce_async(np.ones(9, np.float32)))

            later = []
            sums = [job.allreduce_async(np.frombuffer(Owner(36), np.float32)) for _ in range(50)]
            for each in sums:
                each.wait()
            self.assertEqual(len(later), 50)
            for each in later:
                each.wait()

        self.all(1, work)

    def test_a_vector_of_floats_that_failed_is_nan(self):
        def work(job, rank):
            job.start()
            vector = np.ones(2000, np.float32)
            job.allreduce(vector)
            np.testing.assert_array_equal(vector, 2)
            if rank == 1:
                job.start()
                return
            with self.assertRaisesRegex(ValueError, "has begun anew"):
                job.allreduce(vector)
            self.assertTrue(np.isnan(vector).all())
            kept = np.ones(2000, np.float32)
            with self.assertRaisesRegex(ValueError, "has begun anew"):
                job.allreduce(kept)
            np.testing.assert_array_equal(kept, 1)  # nothing was begun
            job.start()

        self.all(2, work)
        self.all(2, work, threads=2)

    def test_errors_say_what_to_do(self):
        job = olaf.Collective("127.0.0.1:9", JOB, 0, 2, timeout=0.02, run="test")
        with self.assertRaisesRegex(TimeoutError, "the node hasn't answered"):
            job.start()
        with self.assertRaises(TimeoutError):
            olaf.Collective("127.0.0.1:9", JOB, 0, 2, timeout=0.02, run="test").join()
        with self.assertRaises(ValueError):
            job.leave(timeout=-1)
        with self.assertRaisesRegex(TimeoutError, r"start\(\) again"):
            job.allreduce(np.zeros(3, np.float32))
        with self.assertRaisesRegex(TypeError, "share its memory"):
            job.allreduce([1.0, 2.0])
        with self.assertRaisesRegex(TypeError, "float32, int64 or int32, not float64"):
            job.allreduce(np.zeros(3))
        with self.assertRaisesRegex(ValueError, "contiguous"):
            job.allreduce(np.zeros(6, np.float32)[::2])
        with self.assertRaisesRegex(ValueError, "a writable and contiguous array"):
            job.allreduce(np.float32(1))  # a copy would be summed, and thrown away
        with self.assertRaisesRegex(ValueError, "a writable and contiguous array"):
            job.allreduce(Copies())
        with self.assertRaisesRegex(ValueError, "writable"):
            job.allreduce(np.broadcast_to(np.float32(1), 1))
        with self.assertRaisesRegex(ValueError, "'i16x4', 'i64x1' or 'f32', not 'f64'"):
            olaf.Collective("127.0.0.1", JOB, 0, 2, format="f64", run="test")
        self.assertGreater(olaf.Collective("127.0.0.1", JOB, 0, 2, format="f32", run="test").fileno(), 0)
        with self.assertRaisesRegex(ValueError, "1 to 64 threads"):
            olaf.Collective("127.0.0.1", JOB, 0, 2, threads=0, run="test")
        with self.assertRaisesRegex(ValueError, "how many workers"):
            olaf.Collective("127.0.0.1", JOB, 0, 0, run="test")


if __name__ == "__main__":
    unittest.main()
