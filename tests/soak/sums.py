# SPDX-License-Identifier: BSD-2-Clause
"""A synchronous job beside the queue: workers that sum vectors in rounds, whatever happens.

Every sum must be exact, and after every fault the rounds must go on. A worker is a process of its
own, so that one can be stopped while the others go on. With a guest, one more joins the rounds,
leaves them, and comes again; it may be killed at any moment.

A queue that is attached anew has forgotten the guest. So a chunk may be summed once with it and once
without it. The worker that is told so starts again, and all others with it (docs/rounds.md, "One sum
for all").
"""
import multiprocessing
import signal
import time

import numpy as np

import olaf
from books import Unbalanced

JOB, CHILDREN, LANES, CHUNKS = 7, 3, 32, 12
GUEST = CHILDREN  # its rank
GOES_ON_S = 60  # a fault that is over holds rounds up for less than this


def words(has_guest):
    """What `olaf job set DEV` needs."""
    guest = ["--absent", str(GUEST)] if has_guest else []
    return [str(JOB), "--children", str(CHILDREN + has_guest), "--lanes", str(LANES), "--format", "i64x1", *guest]


def part(rank, number):
    """A worker's vector. The first element is left for the wish to stop."""
    grown = np.arange(1, (LANES - 1) * CHUNKS, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15 * (rank + 1) % 2**64)
    return np.concatenate((np.zeros(1, np.uint64), grown + np.uint64(number))).view(np.int64)


def sum_of(ranks, number):
    return sum(part(rank, number).view(np.uint64) for rank in ranks).view(np.int64)


def check(vector, number):
    """Each chunk has all workers' parts, and the guest's or not: it may have died between two."""
    without, with_guest = sum_of(range(CHILDREN), number), sum_of(range(CHILDREN + 1), number)
    for first in range(0, len(vector), LANES - 1):
        chunk = slice(max(first, 1), first + LANES - 1)  # the first element is the wish to stop
        if not any(np.array_equal(vector[chunk], right[chunk]) for right in (without, with_guest)):
            raise Unbalanced(f"round {number} has a wrong sum in chunk {first // (LANES - 1)}")


def must_start_again(error):
    """Whether a worker was told of another sum than the others have, or that one was told so."""
    return "the one that other members have" in str(error) or "has begun anew" in str(error)


class Sums:
    def __init__(self, bed, has_guest=False):
        self.bed = bed
        self.has_guest = has_guest
        self.children = CHILDREN + has_guest
        self._stop = multiprocessing.Event()
        self._no_guest = multiprocessing.Event()
        self._visits = multiprocessing.RawValue("Q", 0)
        self._taken_out = multiprocessing.RawValue("Q", 0)
        self._rounds = [multiprocessing.RawValue("Q", 0) for _ in range(CHILDREN)]
        self._told, self._tell = multiprocessing.Pipe(duplex=False)
        self.workers = [multiprocessing.Process(target=self._work, daemon=True, args=(rank,))
                        for rank in range(CHILDREN)]
        for worker in self.workers:
            worker.start()
        self.guest = self._invite() if has_guest else None

    def visits(self):
        """How often the guest has come, and gone by itself."""
        return self._visits.value

    def kill_guest(self):
        """Where it stands; another one comes in its place."""
        self.guest.kill()
        self.guest.join()
        self._look()
        self.bed.olaf("job", "leave", "in", str(JOB), str(GUEST))
        self.guest = self._invite()

    def _invite(self):
        guest = multiprocessing.Process(target=self._work, daemon=True, args=(GUEST,))
        guest.start()
        return guest

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
        if self.guest:
            self._no_guest.set()
            self._end(self.guest)
        self._stop.set()
        for worker in self.workers:
            self._end(worker)
        if self._taken_out.value > self.bed.times_set:
            raise Unbalanced(f"the guest was taken out {self._taken_out.value} times, and the job set "
                             f"{self.bed.times_set} times\n{self._job()}")
        job = self._job()
        came, results = job["contributions"], job["results"]
        answers = ("added", "duplicate", "late", "stale", "ahead", "halted")
        if came["received"] != sum(came[answer] for answer in answers):
            raise Unbalanced(f"contributions are missing from their answers\n{job}")
        delivered = results["riding"] + results["copied"] + results["undelivered"]
        owed = self.children * job["chunks"]["completed"]
        # While it isn't there the guest is owed nothing.
        if owed < delivered or (owed != delivered and not self.has_guest):
            raise Unbalanced(f"results are missing from their ways out\n{job}")

    def _end(self, worker):
        worker.join(GOES_ON_S)
        self._look()
        if worker.is_alive():
            raise Unbalanced(f"a worker doesn't end\n{self._job()}")

    def close(self):
        for worker in self.workers + ([self.guest] if self.guest else []):
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
            with self.bed.worker.inside():
                job = olaf.Collective(self.bed.host_address(), job=JOB, rank=rank, workers=self.children,
                                      format="i64x1", lanes=LANES, timeout=2 * GOES_ON_S, run="soak")
            if rank == GUEST:
                self._come_and_go(job)
            else:
                self._sum(job, rank)
        except Exception as error:  # whatever it is, the round failed by it
            after = self._visits.value if rank == GUEST else self._rounds[rank].value
            self._tell.send(f"worker {rank} of the job, after {after} {'visits' if rank == GUEST else 'rounds'}: {error}")

    def _sum(self, job, rank):
        number = self._start(job)
        stopping = False
        while not stopping:
            vector = part(rank, number)
            vector[0] = self._stop.is_set()
            try:
                job.allreduce(vector)
            except Exception as error:
                if not self.has_guest or not must_start_again(error):
                    raise
                number = self._start(job)
                continue
            stopping = vector[0] > 0  # all see the same sum, so all stop here
            check(vector, number)
            number += 1
            self._rounds[rank].value = number
            time.sleep(0.002)  # leaves the CPUs to those who flood
        job.finish()

    def _start(self, job):
        """The round in which all begin: no worker ends one before all have started."""
        job.start()
        return self.rounds()

    def _come_and_go(self, job):
        while not self._no_guest.is_set():
            try:
                self._visit(job)
                self._visits.value += 1
            except ValueError as error:
                # A node that was set anew does not know that it has come (docs/rounds.md, "Members").
                if "no member of it any more" in str(error):
                    self._taken_out.value += 1
                elif not must_start_again(error):
                    raise
            time.sleep(0.05)

    def _visit(self, job):
        first = job.join()
        for number in range(first, first + 20):
            vector = part(GUEST, number)
            job.allreduce(vector)
            check(vector, number)
        job.leave(GOES_ON_S)
