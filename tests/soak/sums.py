# SPDX-License-Identifier: BSD-2-Clause
"""A synchronous job beside the queue: workers that sum vectors in rounds, whatever happens.

Every sum must be exact, and after every fault the rounds must go on. A worker is a process of its
own, so that one can be stopped while the others go on.
"""
import multiprocessing
import signal
import time

import numpy as np

import olaf
from books import Unbalanced

JOB, CHILDREN, LANES = 7, 3, 32
GOES_ON_S = 60  # a fault that is over holds rounds up for less than this


def words():
    """What `olaf job set DEV` needs."""
    return [str(JOB), "--children", str(CHILDREN), "--lanes", str(LANES), "--format", "i64x1"]


def part(rank, number):
    """A worker's vector. The first element is left for the wish to stop."""
    grown = np.arange(1, 31 * 12, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15 * (rank + 1) % 2**64)
    return np.concatenate((np.zeros(1, np.uint64), grown + np.uint64(number))).view(np.int64)


class Sums:
    def __init__(self, bed):
        self.bed = bed
        self._stop = multiprocessing.Event()
        self._rounds = [multiprocessing.RawValue("Q", 0) for _ in range(CHILDREN)]
        self._told, self._tell = multiprocessing.Pipe(duplex=False)
        self.workers = [multiprocessing.Process(target=self._work, daemon=True, args=(rank,))
                        for rank in range(CHILDREN)]
        for worker in self.workers:
            worker.start()

    def rounds(self):
        """Those that every worker has the sum of."""
        return min(rounds.value for rounds in self._rounds)

    def go_on(self):
        """Waits until rounds that began after this have ended."""
        due, end = max(rounds.value for rounds in self._rounds) + 2, time.monotonic() + GOES_ON_S
        while self.rounds() < due:
            self._look()
            if time.monotonic() > end:
                raise Unbalanced(f"rounds don't go on: the workers have ended "
                                 f"{[rounds.value for rounds in self._rounds]}\n{self._job()}")
            time.sleep(0.02)

    def settle(self):
        """Ends the rounds; the job's books must be right."""
        self._stop.set()
        for worker in self.workers:
            worker.join(GOES_ON_S)
            self._look()
            if worker.is_alive():
                raise Unbalanced(f"a worker doesn't end\n{self._job()}")
        job = self._job()
        came, results = job["contributions"], job["results"]
        answers = ("added", "duplicate", "late", "stale", "ahead", "halted")
        if came["received"] != sum(came[answer] for answer in answers):
            raise Unbalanced(f"contributions are missing from their answers\n{job}")
        delivered = results["riding"] + results["copied"] + results["undelivered"]
        if CHILDREN * job["chunks"]["completed"] != delivered:
            raise Unbalanced(f"results are missing from their ways out\n{job}")

    def close(self):
        for worker in self.workers:
            worker.kill()
            worker.join()

    def _job(self):
        return self.bed.status()["jobs"][0]

    def _look(self):
        if self._told.poll():
            raise Unbalanced(self._told.recv())

    def _work(self, rank):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            self._sum(rank)
        except Exception as error:  # whatever it is, the round failed by it
            self._tell.send(f"worker {rank} of the job, after {self._rounds[rank].value} rounds: {error}")

    def _sum(self, rank):
        with self.bed.worker.inside():
            job = olaf.Collective(self.bed.host_address(), job=JOB, rank=rank, workers=CHILDREN,
                                  format="i64x1", lanes=LANES, timeout=2 * GOES_ON_S)
        job.join()
        stopping = False
        while not stopping:
            number = self._rounds[rank].value
            vector = part(rank, number)
            vector[0] = self._stop.is_set()
            job.allreduce(vector)
            stopping = vector[0] > 0  # all see the same sum, so all stop here
            right = sum(part(each, number).view(np.uint64) for each in range(CHILDREN)).view(np.int64)
            if not np.array_equal(vector[1:], right[1:]):
                raise Unbalanced(f"round {number} has a wrong sum")
            self._rounds[rank].value += 1
            time.sleep(0.002)  # leaves the CPUs to those who flood
        job.leave()
