# SPDX-License-Identifier: BSD-2-Clause
"""A worker comes and goes while two others sum, in a host with Olaf. Needs root."""

import threading
import unittest

import numpy as np

import olaf
from host_with_olaf import NODE, HostWithOlaf
from namespace import Namespace

JOB = 7
LANES = 64
ELEMENTS = 63 * 10
OWN = 10    # rounds of the one that comes
AFTER = 50  # rounds of the others, once it has left


class Members(HostWithOlaf):
    def worker(self, rank):
        with Namespace(self.workers):
            return olaf.Collective(NODE, JOB, rank, 3, format="i64x1", lanes=LANES, timeout=20)

    def sum(self, job, rank):
        """How many workers were in the sum of one vector, which is right."""
        vector = np.full(ELEMENTS, 10**rank)
        report = job.allreduce(vector)
        self.assertEqual((report.partial, report.late), (0, 0))
        np.testing.assert_array_equal(vector, {2: 11, 3: 111}[report.least_count])
        return report.least_count

    def stay(self, rank, last):
        """One of the others: how many workers were in each round's sum."""
        job = self.worker(rank)
        job.join()
        counts = []
        while len(counts) < last():
            counts.append(self.sum(job, rank))
        self.counts[rank] = counts

    def come_and_go(self, rank):
        job = self.worker(rank)
        first = job.join_running()
        self.last = first + OWN + AFTER  # before it sums, and so before the others pass `first`
        self.assertEqual([self.sum(job, rank) for _ in range(OWN)], [3] * OWN)
        self.assertIs(job.depart(timeout=20), True, "the others went on, so nobody needs it")
        with self.assertRaisesRegex(Exception, "has left it.*join_running"):
            job.allreduce(np.ones(ELEMENTS, np.int64))
        return first

    def test_a_worker_that_comes_and_goes_is_in_the_sums_between(self):
        self.olaf("job", "set", "in", str(JOB), "--children", "3", "--lanes", str(LANES),
                  "--format", "i64x1", "--absent", "2")
        self.last, self.counts, failures = float("inf"), {}, []

        def others(rank):
            try:
                self.stay(rank, lambda: self.last)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=others, args=(rank,)) for rank in range(2)]
        for thread in threads:
            thread.start()
        try:
            first = self.come_and_go(2)
        except BaseException:
            self.last = 0  # the others needn't go on
            raise
        finally:
            for thread in threads:
                thread.join()
        self.assertEqual(failures, [])
        expected = [2] * first + [3] * OWN + [2] * AFTER
        self.assertEqual(self.counts, {0: expected, 1: expected})

    def test_a_free_rank_that_nobody_answers_is_a_timeout(self):
        with Namespace(self.workers):
            job = olaf.Collective("10.65.24.77", JOB, 2, 3, lanes=LANES, timeout=0.05)
        with self.assertRaises(TimeoutError):
            job.join_running()

    def test_departing_asks_for_a_time(self):
        with self.assertRaises(ValueError):
            self.worker(2).depart(timeout=-1)


if __name__ == "__main__":
    unittest.main()
