# SPDX-License-Identifier: BSD-2-Clause
"""A worker that sums vectors of int64 in rounds, by docs/rounds.md alone: to be read by those who write
a client in another language. Comments in quotes name the section of that page that is followed."""
import random
import select
import socket
import struct
import time

from frames import *

UNDER_WAY = 64  # chunks at most, whatever the pool: rings and sockets hold no more


class JobError(Exception):
    """This session of the job is over. All workers start() again."""


class SessionOver(JobError):
    pass


class Chunk:
    def __init__(self, round, number, chunks, workers, content, lanes):
        self.round, self.number, self.chunks, self.lanes = round, number, chunks, lanes
        self.content, self.identity = content, identity(chunks, workers, content)
        self.generated = time.clock_gettime_ns(time.CLOCK_TAI)
        self.given = None  # its sum, whenever that came
        self.begin_anew()

    def begin_anew(self):
        self.sum, self.due, self.wait = None, 0, 0.01


class Member:
    def __init__(self, node, job, rank, workers, run, number=0, timeout=30.0):
        family, kind, _, _, to = socket.getaddrinfo(node, 6523, type=socket.SOCK_DGRAM)[0]
        self.socket = socket.socket(family, kind)
        self.socket.connect(to)  # so it hears this address and port alone
        self.job, self.rank, self.workers, self.timeout = job, rank, workers, timeout
        self.run, self.stamp, self.asked = (training_of(run), number), 0, 0

    def start(self):
        """Agrees with all other workers to begin. After an error all of them do so again."""
        self.incarnation = random.SystemRandom().getrandbits(64)
        self.generation = self.session = self.round = self.misses = 0
        self.kept, self.first, self.shape = [], 0, None  # kept[first] is the oldest without a sum
        self.ask()
        self.work()

    def allreduce(self, vector):
        """The sum mod 2^64; how many workers' it is at least; whether this one's is in all of it."""
        given = self.give([vector[at:at + self.room] for at in range(0, len(vector), self.room)] or [[]])
        return ([element for chunk in given for element in chunk.sum][:len(vector)],
                min(chunk.count for chunk in given), not any(chunk.flags & LATE for chunk in given))

    def finish(self):
        """Whether no worker can need this one any more. All call it after the same vector."""
        try:
            farewell, = self.give([[0]], FAREWELL)
        except SessionOver:
            if self.first < len(self.kept) - 1:
                raise
            return False  # all sums are here, and somebody has begun anew
        return farewell.count == self.workers and not farewell.flags & PARTIAL

    def give(self, pieces, chunks=None):
        self.kept = self.kept[-2 * self.slots:]
        self.first = len(self.kept)
        for number, piece in enumerate(pieces):
            lanes = [element % 2**64 for element in piece] + [0] * (self.room - len(piece))
            lanes += [checksum(lanes)] * (self.shape & CHECKSUM)
            self.kept.append(Chunk(self.round, number, chunks or len(pieces), self.workers,
                                   INT64 << 13 | len(pieces[-1]), struct.pack(f"<{len(lanes)}Q", *lanes)))
        self.round = (self.round + 1) % 2**32
        self.work()
        return self.kept[-len(pieces):]

    def work(self):
        """Sends and hears, until all have agreed and each chunk has its sum."""
        self.until, self.why = time.monotonic() + self.timeout, "the node is silent"
        while self.asking or self.first < len(self.kept):
            now = time.monotonic()
            if now > self.until + 1:
                raise TimeoutError(f"rank {self.rank} has waited for {self.timeout} s: {self.why}")
            if now > self.until >= self.asked:
                self.ask()  # all who are there do so then, and WAIT names who isn't
            if not self.asking:
                self.contribute_what_is_due(now)
            elif self.due <= now:
                self.send_question(now)
            select.select([self.socket], [], [], max(0, self.due - now))
            self.hear()

    def contribute_what_is_due(self, now):  # "The window"
        busy, may = set(), []
        for chunk in self.kept[self.first:self.first + self.slots]:
            slot = chunk.number % self.slots
            if chunk.sum is None and slot not in busy and not (busy and chunk.chunks == FAREWELL):
                may.append(chunk)
            if chunk.sum is None:
                busy.add(slot)
        due = [chunk for chunk in may[:UNDER_WAY] if chunk.due <= now]
        for chunk in due:
            self.contribute(chunk, FLUSH if chunk is due[-1] else 0)
            chunk.due, chunk.wait = now + chunk.wait, min(2 * chunk.wait, 0.2)
        self.due = min(chunk.due for chunk in may[:UNDER_WAY])

    def contribute(self, chunk, flags):
        self.send(chunk.lanes, type=CONTRIBUTION, flags=self.shape & 0xFFFF | flags, workers=self.workers,
                  round=chunk.round, what=chunk.content << 16 | 1, generated=chunk.generated,
                  chunk=chunk.number, chunks=chunk.chunks)

    def send(self, lanes, **fields):
        try:
            self.socket.send(pack(lanes, job=self.job, rank=self.rank, generation=self.generation, **fields))
        except OSError as error:
            self.why = str(error)

    def hear(self):
        while True:
            try:
                header, lanes = unpack(self.socket.recv(65536, socket.MSG_DONTWAIT), self.job)
            except BlockingIOError:
                return  # nothing is sent again before all that has come was read
            except OSError as error:  # ICMP: the node may just be restarting
                self.why = str(error)
                continue
            if header and header.type == RESULT and header.rank == self.rank and not self.asking:
                self.take_result(header, lanes)
            elif header and header.type == CONTROL and header.flags & ANSWER:
                if header.what == SYNC and header.generated == self.stamp and self.asking:
                    self.take_answer(header, *struct.unpack("<4Q", lanes))
                elif (header.what, header.status, header.generation) == (LEAVE, GONE, self.generation):
                    raise JobError(f"rank {self.rank} is no member any more")

    def ask(self, newer_than=0):  # "Agreeing where to begin"
        self.asking, self.due, self.wait = True, self.asked + 0.005, 0.005
        self.stamp = max(time.clock_gettime_ns(time.CLOCK_TAI), self.stamp + 1, newer_than + 1)

    def places(self):  # who has all sums names the next chunk
        return [*((chunk.round, chunk.number) for chunk in self.kept), (self.round, 0)]

    def send_question(self, now):
        round, number = self.places()[self.first]
        self.send(struct.pack("<4Q", self.incarnation, self.session, *self.run), type=CONTROL, what=SYNC,
                  generated=self.stamp, round=round, chunk=number, pool=16)
        self.asked, self.due, self.wait = now, now + self.wait, min(2 * self.wait, 0.05)

    def take_answer(self, answer, _, session, training, number):
        who = f"rank {answer.rank}" + (" of a node above" if answer.flags & ABOVE else "")
        if answer.status == DONE:
            if (answer.round, answer.chunk) not in self.places():
                self.misses += 1
                if self.misses < 3:  # an old SYNC may have named it
                    return self.ask()
                raise JobError(f"round {answer.round}, where all begin, isn't kept here")
            if self.shape not in (None, answer.chunks) or answer.chunks >> 8 & 15 == FLOATS:
                raise JobError("the job's lanes are others than this worker's")
            self.asking, self.misses, self.generation, self.session = False, 0, answer.generation, session
            self.shape, self.slots = answer.chunks, 1 << answer.pool
            self.room = (self.shape >> 16) - (self.shape & CHECKSUM)
            self.first = self.places().index((answer.round, answer.chunk))
            for chunk in self.kept[self.first:]:
                chunk.begin_anew()
        elif answer.status == WAIT:
            self.why = f"{answer.chunks} workers haven't started or have stopped, {who} first"
        elif answer.status == OLD:
            self.ask(newer_than=session)
        elif answer.status == OVER:
            raise SessionOver(f"{who} has begun anew" if answer.rank != 0xFFFF else "two sessions met")
        elif answer.status == OTHER:
            raise JobError(f"training id:{training:016x}, run {number}, has the job: {answer.chunks} workers")
        else:
            raise JobError(f"rank {self.rank} is no member")

    def take_result(self, result, lanes):
        theirs = identity(result.chunks, result.workers, result.what >> 16)
        chunk = next((chunk for chunk in self.kept[self.first:self.first + self.slots] if chunk.sum is None
                      and (chunk.round, chunk.number) == (result.round, result.chunk)), None)
        if result.flags & STALE:
            if result.what == self.generation != result.generation:
                self.ask()
            elif result.what == self.generation and chunk:
                raise JobError(f"round {result.round} went on without this worker, and its sum is gone")
        elif result.generation == self.generation and result.flags & MISFIT:
            raise JobError(f"vectors differ: {describe(theirs)}, and {describe(result.generated)}")
        elif result.generation == self.generation and chunk and theirs != chunk.identity:
            raise JobError(f"vectors differ: {describe(chunk.identity)}, and {describe(theirs)}")
        elif result.generation == self.generation and chunk:
            sum = struct.unpack(f"<{len(lanes) // 8}q", lanes)
            if self.shape & CHECKSUM and checksum(sum[:-1]) != sum[-1] % 2**64:
                return self.contribute(chunk, FLUSH | SPOILT)
            chunk.sum, chunk.count, chunk.flags = sum[:self.room], result.what & 0xFFFF, result.flags
            if chunk.given not in (None, (chunk.sum, chunk.count)) and chunk.chunks != FAREWELL:
                raise JobError(f"others have another sum of round {result.round}")  # "One sum for all"
            chunk.given = (chunk.sum, chunk.count)
            self.until = time.monotonic() + self.timeout
            while self.first < len(self.kept) and self.kept[self.first].sum is not None:
                self.first += 1
