# SPDX-License-Identifier: BSD-2-Clause
"""The plain client of examples/plain_rounds sums through a host with Olaf. Needs root."""

import json
import pathlib
import random
import sys
import threading
import unittest

import numpy
import olaf
from loopback import SOON, in_threads
from namespaces import NODE, Namespace, RoundsHost

sys.path.append(str(pathlib.Path(__file__).parents[2] / "examples/plain_rounds"))
from member import JobError, Member  # noqa: E402

JOB, MEMBERS, LANES, POOL = 7, 4, 16, 8
VECTORS, FEW = 200, 8
ROOM = LANES - 1  # beside the checksum lane
SIZES = (0, 1, ROOM - 1, ROOM, ROOM + 1, POOL * ROOM, POOL * ROOM + 1, 3 * POOL * ROOM - 7)


def vector_of(rank, step):
    """What this rank gives to this sum: numbers of all 64 bits, so that sums wrap."""
    numbers = random.Random(rank * 1000 + step)
    return [numbers.randrange(-2**63, 2**63) for _ in range(SIZES[step % len(SIZES)])]


def sum_of(step):
    return [(sum(elements) + 2**63) % 2**64 - 2**63
            for elements in zip(*(vector_of(rank, step) for rank in range(MEMBERS)))]


class Killed(Exception):
    """The process is no more."""


class BadWay:
    """The socket of the worker with that rank. One frame in twenty is lost each way, and one of data has
    a flipped bit. When so many were sent, something happens."""

    SHARE = 0.05

    def __init__(self, socket, rank, events):
        self.socket, self.events, self.sent, self.random = socket, events, 0, random.Random(rank)
        self.rank, self.fileno = rank, socket.fileno

    def damaged(self, frame, way):
        """Only one flip in a sum is found for certain. Two in the same bit of two lanes may hide each
        other. So each worker and each way, 0 or 1, has bits of its own in a byte of the lanes."""
        if len(frame) != 48 + 8 * LANES or self.random.random() >= self.SHARE:
            return frame
        bit = self.random.randrange(8 * len(frame))
        if bit >= 8 * 48:
            bit += 2 * self.rank + way - bit % 8
        return (int.from_bytes(frame, "little") ^ 1 << bit).to_bytes(len(frame), "little")

    def send(self, frame):
        self.sent += 1
        self.events.pop(self.sent, lambda: None)()
        if self.random.random() >= self.SHARE:
            self.socket.send(self.damaged(frame, 0))

    def recv(self, *arguments):
        while True:
            frame = self.socket.recv(*arguments)
            if self.random.random() >= self.SHARE:
                return self.damaged(frame, 1)


class HeardAndKilled:
    """The socket of a process that is killed as soon as it has heard something."""

    def __init__(self, socket):
        self.send, self.fileno, self.socket = socket.send, socket.fileno, socket

    def recv(self, *arguments):
        self.socket.recv(*arguments)
        raise Killed


class PlainRounds(RoundsHost):
    SLOTS = POOL

    def setUp(self):
        super().setUp()
        self.set_job()

    def set_job(self):
        self.olaf("job", "set", "in", str(JOB), "--children", str(MEMBERS), "--lanes", str(LANES),
                  "--pool", str(POOL))

    def set_job_anew(self):
        self.olaf("job", "remove", "in", str(JOB))
        self.set_job()

    def member(self, rank, events=None, run="plain", timeout=SOON):
        with Namespace(self.workers):
            member = Member(NODE, JOB, rank, MEMBERS, run, timeout=timeout)
        self.addCleanup(member.socket.close)
        member.socket = BadWay(member.socket, rank, events or {})
        return member

    def sum_all(self, member, vectors=VECTORS):
        for step in range(vectors):
            sum = member.allreduce(vector_of(member.rank, step))
            self.assertEqual(sum, (sum_of(step), MEMBERS, True), f"sum {step}")
        self.assertTrue(member.finish())

    def work(self, rank):
        member = self.member(rank)
        member.start()
        self.sum_all(member)

    def test_four_sum_where_frames_are_lost_and_damaged_each_way(self):
        in_threads(MEMBERS, self.work)

    def test_four_go_on_where_the_job_is_reset_and_set_anew(self):
        events = {500: lambda: self.olaf("job", "reset", "in", str(JOB)), 1000: self.set_job_anew}

        def work(rank):
            member = self.member(rank, events if rank == 0 else None)
            member.start()
            self.sum_all(member)

        in_threads(MEMBERS, work)
        self.assertEqual(events, {})

    def test_two_sum_with_two_of_libolaf(self):
        def work_of_libolaf(rank):
            with Namespace(self.workers):
                job = olaf.Collective(NODE, job=JOB, rank=rank, workers=MEMBERS, run="plain",
                                      run_number=0, timeout=SOON)
                job.start()
            for step in range(VECTORS):
                vector = numpy.array(vector_of(rank, step), numpy.int64)
                job.allreduce(vector)
                self.assertEqual(vector.tolist(), sum_of(step), f"sum {step}")
            self.assertTrue(job.finish())

        in_threads(MEMBERS, lambda rank: (self.work, work_of_libolaf)[rank % 2](rank))

    def test_one_that_was_killed_and_begins_anew_tells_all(self):
        def killed():
            raise Killed

        def work(rank):
            member = self.member(rank, {100: killed} if rank == 3 else None)
            member.start()
            with self.assertRaises(Killed if rank == 3 else JobError) as told:
                self.sum_all(member)
            if rank == 3:
                member = self.member(rank)  # a process of the same run, at another port
            else:
                self.assertIn("rank 3 has begun anew", str(told.exception))
            member.start()
            self.sum_all(member, FEW)

        in_threads(MEMBERS, work)

    def all_are_told(self, give, *texts):
        """give(member) differs between the ranks: all hear so. Then they begin anew."""
        all_told = threading.Barrier(MEMBERS)

        def work(rank):
            member = self.member(rank)
            with self.assertRaises(JobError) as told:
                member.start()  # this one may come so late that it hears of it here
                give(member)
            for text in texts:
                self.assertIn(text, str(told.exception))
            all_told.wait(SOON)
            member.start()
            self.sum_all(member, FEW)

        in_threads(MEMBERS, work)

    def test_all_are_told_of_a_vector_that_differs(self):
        self.all_are_told(lambda member: member.allreduce([1] * (21 if member.rank == 2 else 20)),
                          "2 chunks, the last of 5 elements", "2 chunks, the last of 6 elements")

    def test_all_are_told_where_one_stops_before_the_others(self):
        self.all_are_told(lambda member: member.finish() if member.rank == 2 else member.allreduce([1]),
                          "a farewell", "1 chunks")

    def test_who_waits_in_vain_is_told_who_is_missing(self):
        with self.assertRaises(TimeoutError) as told:
            self.member(0, timeout=1).start()
        self.assertIn("3 workers haven't started or have stopped, rank 1 first", str(told.exception))

    def test_another_training_is_told_whose_the_job_is(self):
        with self.assertRaises(TimeoutError):
            self.member(0, timeout=1).start()
        with self.assertRaises(JobError) as told:
            self.member(1, run="another").start()
        self.assertRegex(str(told.exception), "training id:[0-9a-f]{16}, run 0, has the job: 1 workers")


class WorkersOfTwoThreads(RoundsHost):
    """Each is a member of two jobs."""

    JOBS = JOB, JOB + 1

    def setUp(self):
        super().setUp()
        for job in self.JOBS:
            self.olaf("job", "set", "in", str(job), "--children", "2", "--pool", str(POOL))

    def await_running(self, job):
        while [each["state"] for each in json.loads(self.olaf("--json", "status", "in"))["jobs"]
               if each["job"] == job] != ["running"]:
            pass

    def test_start_and_sum_where_one_was_killed_after_it_had_asked_in_one_of_the_jobs(self):
        with Namespace(self.workers):
            killed = Member(NODE, JOB, 1, 2, "plain", timeout=SOON)
            self.addCleanup(killed.socket.close)
            killed.socket = HeardAndKilled(killed.socket)
            with self.assertRaises(Killed):
                killed.start()

        def work(rank):
            if rank == 1:
                self.await_running(JOB)  # the other one has agreed with the killed one there
            with Namespace(self.workers):
                worker = olaf.Collective(NODE, JOB, rank, 2, threads=2, timeout=SOON, run="plain")
            worker.start()
            vector = numpy.arange(1000, dtype=numpy.int64) + rank
            worker.allreduce(vector)
            numpy.testing.assert_array_equal(vector, 2 * numpy.arange(1000) + 1)
            self.assertTrue(worker.finish())

        in_threads(2, work)


if __name__ == "__main__":
    unittest.main()
