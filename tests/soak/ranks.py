# SPDX-License-Identifier: BSD-2-Clause
"""A rank of a job as a process that does what it is told, and vectors whose sum says who gave what.

Each vector that a rank gives has a mark of its own: DIGITS digits of 1 to 7. Its element e is the digit
e % DIGITS, in the four bits of this rank; floats are scaled by a power of two. So each element of a sum
shows a digit of each rank's mark, 0 where a rank's part is missing, and more than 7, or another digit, where
a part is there twice.
"""
import multiprocessing
import multiprocessing.connection
import os
import signal
import time

import numpy as np

import olaf

DIGITS, HIGHEST, BITS = 5, 7, 4
MOST = 4  # ranks: a float32 holds 24 bits exactly, and the sum of four has 16


def draw_mark(draw):
    return tuple(draw.randint(1, HIGHEST) for _ in range(DIGITS))


def vector_of(rank, mark, size, kind, scale=0):
    whole = np.resize(np.array(mark) << BITS * rank, size)
    return np.ldexp(whole.astype(kind), scale) if kind is np.float32 else whole.astype(kind)


def expected(marks, size, kind, operation, scale):
    """The plain sum, or mean, of what ranks with these marks give."""
    total = sum(vector_of(rank, mark, size, np.int64) for rank, mark in marks.items()).astype(kind)
    if operation == "mean":
        total /= np.float32(len(marks))
    return np.ldexp(total, scale) if kind is np.float32 else total


class Rank:
    """A process. Each order() has one answer(), in the same order."""

    PATIENCE_S = 120  # for an answer, beyond the timeout of the Collective, on a machine that is busy

    def __init__(self, inside, number, **options):
        """`inside()` enters the namespace of the rank's sockets. `number` counts through all nodes' ranks."""
        self.number = number
        self.pipe, there = multiprocessing.Pipe()
        self._ordered, self._begun = 0, multiprocessing.RawValue("Q", 0)
        self.process = multiprocessing.Process(target=_obey, daemon=True,
                                               args=(there, self._begun, inside, number, options))
        self.process.start()
        there.close()

    def order(self, *words):
        """("start",), ("finish",), or ("sum", [(mark, size, kind, operation, scale), ...]), all of them begun
        before the first is awaited."""
        self._ordered += 1
        self.pipe.send(words)

    def answer(self):
        """("done", what start() and finish() return, or the summed vectors), ("error", text), or
        ("dead", ""); None if there is none in time."""
        try:
            return self.pipe.recv() if self.pipe.poll(self.PATIENCE_S) else None
        except (EOFError, ConnectionResetError):
            return "dead", ""

    def interrupt(self):
        """Ctrl-C once it does what it was told last, which Python turns into KeyboardInterrupt."""
        while self._begun.value < self._ordered and self.process.is_alive():
            time.sleep(0.001)
        os.kill(self.process.pid, signal.SIGINT)

    def kill(self):
        self.process.kill()
        self.process.join()


def answering(ranks):
    """Those that have an answer, once one has; all, if none has in time."""
    ready = multiprocessing.connection.wait([rank.pipe for rank in ranks], Rank.PATIENCE_S)
    return [rank for rank in ranks if rank.pipe in ready] or ranks


class Interrupts:
    """Ctrl-C raises KeyboardInterrupt once in an order, and nothing between two orders."""

    def __init__(self):
        self.wanted = False
        signal.signal(signal.SIGINT, self._came)

    def _came(self, *_):
        if self.wanted:
            self.wanted = False
            raise KeyboardInterrupt


def _obey(orders, begun, inside, number, options):
    interrupts = Interrupts()
    collective = None
    while True:
        try:
            word, *rest = orders.recv()
        except EOFError:
            return  # nobody is left to give orders
        try:
            interrupts.wanted = True
            begun.value += 1
            try:
                if collective is None:
                    with inside():
                        collective = olaf.Collective(**options)
                answer = "done", _do(collective, number, word, *rest)
            except Exception as error:  # worlds.py judges it, whatever it is
                answer = "error", str(error)
            interrupts.wanted = False
        except KeyboardInterrupt:
            answer = "error", "KeyboardInterrupt"
        orders.send(answer)


def _do(collective, number, word, vectors=()):
    if word != "sum":
        return getattr(collective, word)()
    given = [vector_of(number, mark, size, kind, scale) for mark, size, kind, _, scale in vectors]
    sums = [collective.allreduce_async(vector, op=operation)
            for vector, (*_, operation, _) in zip(given, vectors)]
    for each in sums:
        each.wait()
    return given
