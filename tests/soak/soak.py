# SPDX-License-Identifier: BSD-2-Clause
"""Real sockets through attached queues while faults are drawn at random.

A round is a testbed and a queue; an episode is a fault, most of them under load. After each the
identities must hold, and what left the queue must be what the server received and what was lost
behind the queue. A round's draws depend on the seed and the round alone.
"""
import argparse
import collections
import random
import subprocess
import sys
import time

import books
import faults
import sums
from bed import WAYS, Bed
from traffic import Traffic

EPISODES = 5


def seconds(words):
    units = {"s": 1, "m": 60, "h": 3600}
    return float(words[:-1]) * units[words[-1]] if words[-1] in units else float(words)


def options(program, text, unit):
    """What the command line asks for; `unit` is the word for what is drawn one after the other."""
    parser = argparse.ArgumentParser(prog=program, description=text,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--for", dest="for_s", type=seconds, default=600, metavar="TIME",
                        help="how long: 90s, 10m, 1h (10m)")
    parser.add_argument("--seed", type=int, help="what to draw from; a fresh one is drawn if none is given")
    parser.add_argument(f"--{unit}", type=int, default=0, help=f"the first {unit} (0)")
    parser.add_argument("--olaf", required=True, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.seed is None:
        asked.seed = random.SystemRandom().randrange(1 << 31)
    print(f"seed {asked.seed}", flush=True)
    return asked


def draw_attach(draw, way):
    chosen = ["--mode", draw.choice(("native", "skb"))]
    chosen += draw.choice(([], ["--rate", "2mbit"], ["--rate", "20mbit"], ["--rate", "unlimited"]))
    chosen += ["--policy", draw.choice(("olaf", "olaf", "fifo", "aggregate", "newest"))]
    chosen += draw.choice(([], [], ["--queue", "4"]))
    chosen += draw.choice(([], [], ["--drain-interval", "5ms"]))
    return chosen


class Round:
    def __init__(self, olaf, seed, number):
        self.name = f"{seed}/{number}"
        self.draw = random.Random(self.name)
        way, family = self.draw.choice(WAYS), self.draw.choice((4, 6))
        self.attach = draw_attach(self.draw, way)
        self.head = f"round {number}: {way}, IPv{family}, {' '.join(self.attach)}"
        self.bed = Bed(olaf, way, family)
        if way != "bridged" and self.draw.random() < 0.5:
            self.has_guest = self.draw.random() < 0.5
            self.bed.job = sums.words(self.has_guest)
            self.attach += ["--round-slots", "64"]
            self.head += ", a job of rounds" + (" with a guest" if self.has_guest else "")
        self.books = books.Books(self.bed)
        self.lost, self.sent, self.out = collections.Counter(), 0, 0  # by queues that are gone
        self.rounds = 0  # of its job

    def run(self, end):
        print(self.head, flush=True)
        self.bed.attach(self.attach)
        if self.bed.job:
            self.bed.sums = sums.Sums(self.bed, self.has_guest)
        for number in range(EPISODES):
            if time.monotonic() > end:
                break
            self._episode(number)
        if self.bed.sums:
            self.bed.sums.settle()
            self.rounds = self.bed.sums.rounds()
        self._close_books(self.books.settle())

    def _traffic(self, number, longest=1.0):
        return Traffic(self.bed, f"{self.name}/{number}", self.draw.choice((0.001, 0.01, 0.05)),
                       self.draw.random() < 0.5)

    def _episode(self, number):
        fault = self.draw.choice(faults.faults_for(self.bed))
        started = time.monotonic()
        print(f"  {fault.__name__}", end="", flush=True)
        if fault in faults.QUIET:
            told = self._quiet(fault, number)
        else:
            traffic = self._traffic(number)
            time.sleep(self.draw.uniform(0.05, 0.5))
            try:
                told = fault(self.bed, self.draw, self.attach)
                time.sleep(0.3)
            finally:
                self.sent += traffic.stop()
        if fault in faults.NEW_BOOKS:
            self._new_books()
        if self.bed.sums:
            self.bed.sums.go_on()
        status = self.books.settle()
        print(f": {told}; {self._figures(status)}; {time.monotonic() - started:.1f} s", flush=True)

    def _quiet(self, fault, number):
        self.books.settle()
        done = fault(self.bed, self.draw, self.attach)
        told, undo = done if isinstance(done, tuple) else (done, lambda: None)
        traffic = self._traffic(number)
        time.sleep(self.draw.uniform(0.2, 1.5))
        self.sent += traffic.stop()
        undo()
        return told

    def _new_books(self):
        """Without a queue updates went to the server by themselves: it starts at nothing again."""
        self._close_books(self.bed.status())
        self.bed.olaf("detach", "in", "--force")
        received = -1
        while received != self.bed.server.received():
            received = self.bed.server.received()
            time.sleep(0.2)
        self.bed.attach(self.attach)
        self.books.open()

    def _close_books(self, status):
        self.out += status["counters"]["updates_out"]
        self.lost.update(books.lost(status))

    def _figures(self, status):
        c = status["counters"]
        return (f"in {c['updates_in']}, out {c['updates_out']}, "
                f"lost {books.lost(status) or 'none'}, malformed {c['malformed']}, "
                f"not allowed {c['not_allowed']}, bypassed {c['bypassed']}")


def main():
    asked = options("scripts/soak", __doc__, "round")
    seed = asked.seed
    end = time.monotonic() + asked.for_s
    number, lost, out, sent, missing, rounds = asked.round, collections.Counter(), 0, 0, 0, 0
    while time.monotonic() < end or number == asked.round:
        current = Round(asked.olaf, seed, number)
        try:
            # The first one is complete however long it takes: a failure is seen again by it.
            current.run(end if number > asked.round else float("inf"))
        except (books.Unbalanced, RuntimeError, subprocess.SubprocessError) as error:
            print(f"\nFAILED {current.head}\n{error}\n"
                  f"again: sudo scripts/soak --seed {seed} --round {number} --for 1s", flush=True)
            return 1
        finally:
            current.bed.close()
        lost.update(current.lost)
        out += current.out
        sent += current.sent
        rounds += current.rounds
        missing += current.books.missing
        number += 1
    print(f"passed: {number - asked.round} rounds, {sent} updates sent, {out} left a queue, of these "
          f"lost {dict(lost) or 'none'}; {rounds} rounds of jobs summed exactly")
    if missing:
        print(f"{missing} more were lost where this kernel runs no tracing program (process 1)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
