# SPDX-License-Identifier: BSD-2-Clause
"""Ranks that sum in rounds over a bad wire, in worlds drawn at random, against a plain sum.

A world is a job, its ranks as processes, and a wire with faults; a step is a sum that all ranks give to,
or something that goes wrong. Three things must always hold:

  - what a rank gets from a sum is the plain sum of what all ranks gave to that call, or an error;
  - every call ends;
  - once nothing goes wrong any more, the ranks start() and sum again.

Where only the wire is bad, or another training knocks, no rank gets an error. The seed and the world's number
decide what is drawn; the machine decides when it happens.
"""
import collections
import json
import random
import subprocess
import sys
import time

import numpy as np

from network import Netns, run
from ranks import MOST, Rank, answering, draw_mark, expected
from relay import Relay
from soak import options

JOB, STEPS, TIMEOUT_S = 7, 8, 20
STARTS_WITHIN_S = 60  # once nothing goes wrong any more
FORMATS = {"i32x2": (np.float32, np.int32, np.int64), "i64x1": (np.int32, np.int64), "f32": (np.float32,)}
# Powers of two that a format has room for, with all bits of a mark.
SCALES = {"i32x2": (-60, 60), "f32": (-40, 3)}


class Wrong(Exception):
    """What must hold doesn't."""


class World:
    """A job, its nodes, a bad wire above and below each, and a process for each rank.

        one:    ranks ── node                    chain:  ranks ── leaf ── root

        tree:   ranks ┬─ leaf 0 ─┬ root          number n is rank n / 2 of leaf n % 2
                      └─ leaf 1 ─┘
    """

    def __init__(self, olaf, seed, number):
        self.draw = random.Random(f"{seed}/{number}")
        draw = self.draw
        self.olaf_binary = olaf
        self.family = draw.choice((4, 6))
        self.mode = draw.choice(("native", "skb"))
        self.count = draw.randint(1, MOST)
        self.format = draw.choice(tuple(FORMATS))
        self.lanes = draw.choice((4, 9, 32, 96))
        self.slots = draw.choice((2, 4, 16, 64))
        self.threads = draw.choice((1, 1, 2))
        self.bad = {fault: draw.choice((0, 0, 0.01, most)) for fault, most in
                    (("lost", 0.05), ("doubled", 0.1), ("swapped", 0.1), ("flipped", 0.05))}
        self.shape = draw.choice(("one", "one", "chain", "tree"))
        self.leaves = min(2, self.count) if self.shape == "tree" else 1
        self.nodes = self.leaves + (self.shape != "one")  # the leaves, then the root
        self.head = (f"world {number}: IPv{self.family}, {self.mode}, {self.count} ranks, {self.shape}, "
                     f"{self.format}, {self.lanes} lanes, {self.slots} slots, {self.threads} threads, "
                     + (", ".join(f"{chance:.0%} {fault}" for fault, chance in self.bad.items() if chance)
                        or "a good wire"))
        self.run_number = 0
        self.hosts, self.wires, self.relays = [], [], []  # the host of the ranks, then those of the nodes
        self.ranks = []
        self.steps, self.sums = collections.Counter(), 0

    # ---- what it stands on ----

    def build(self):
        self.hosts = [Netns("ranks"), *(Netns(f"node{node}") for node in range(self.nodes))]
        for leaf in range(self.leaves):
            self.link(leaf, [(self.hosts[0], f"out{leaf}")], self.hosts[1 + leaf])
        if self.nodes > self.leaves:
            self.link(self.leaves, [(host, "out") for host in self.hosts[1:-1]], self.hosts[-1])
        for host in self.hosts[1:]:  # the kernel tells programs the way to a parent only where it forwards
            host.sysctl("ipv4/ip_forward" if self.family == 4 else "ipv6/conf/all/forwarding", 1)
        for node in range(self.nodes):
            self.attach(node)
        self.ranks = [self.rank(number) for number in range(self.count)]

    def link(self, number, below, above):
        """A bad wire between these devices and `in` of the host `above`, whose node is the wire's number. Where
        there are several devices, a bridge joins them."""
        wire = Netns(f"wire{number}")
        self.wires.append(wire)
        ends = [*below, (above, "in")]
        macs = [f"02:00:00:00:0{number}:0{end}" for end in range(len(ends))]
        ports = ["left"] if len(below) == 1 else [f"port{end}" for end in range(len(below))]
        for port, (netns, device), mac in zip([*ports, "right"], ends, macs):
            wire.ip(f"link add {port} type veth peer name {device} address {mac} netns {netns.name}")
        # A device that comes up looks whether its peer takes redirected frames.
        for netns, device in [*ends, *((wire, port) for port in (*ports, "right"))]:
            netns.offloads(device, gro=True, tx=False)
        if len(below) > 1:  # what is for `above` is the bridge's own, and so goes on to the relay
            wire.ip(f"link add left type bridge mcast_snooping 0\nlink set left address {macs[-1]} up\n"
                    + "\n".join(f"link set {port} master left" for port in ports))
        for netns, device in [*ends, *((wire, port) for port in (*ports, "right"))]:
            netns.ip(f"link set {device} up")
        bits, nodad = (24, "") if self.family == 4 else (64, "nodad")
        for end, (netns, device) in enumerate(ends):
            netns.ip(f"address add {self.address(number, end)}/{bits} dev {device} {nodad}")
            # A question for a neighbour, lost, would cost a second.
            for other in range(len(below)) if end == len(below) else [len(below)]:
                netns.ip(f"neighbour add {self.address(number, other)} lladdr {macs[other]} dev {device} "
                         "nud permanent")
        self.relays.append(Relay(wire, "left", "right", self.draw.random()))

    def close(self):
        for rank in self.ranks:
            rank.kill()
        for node in range(len(self.hosts) - 1):
            self.olaf(node, "detach", "in", "--force", check=False)
        for what in (*self.relays, *self.wires, *self.hosts):
            what.close()

    def node_address(self, node):
        return self.address(node, self.leaves if node >= self.leaves else 1)

    def address(self, link, end):
        """Ends count from the side of the ranks; the last one is the node's."""
        return f"10.65.{link}.{end + 1}" if self.family == 4 else f"fd65:{link}::{end + 1}"

    def olaf(self, node, *words, check=True):
        return run([self.olaf_binary, "--netns", self.hosts[1 + node].name, *words], check=check)

    def attach(self, node):
        self.olaf(node, "attach", "in", "--local", "--mode", self.mode,
                  "--round-slots", str(max(self.slots * self.threads, 8)))
        for thread in range(self.threads):
            self.set_job(node, JOB + thread)

    def set_job(self, node, job):
        children = self.leaves if node >= self.leaves else len(range(node, self.count, self.leaves))
        words = ["--children", str(children), "--max-count", str(self.count),
                 "--lanes", str(self.lanes), "--format", self.format, "--pool", str(self.slots)]
        if self.format == "f32":
            words.append("--no-checksum")
        if node + 1 < self.nodes:
            words += ["--parent", self.node_address(self.nodes - 1), "--rank", str(node)]
        self.olaf(node, "job", "set", "in", str(job), *words)

    def rank(self, number, **other):
        return Rank(self.hosts[0].inside, number, **{
            "node": self.node_address(number % self.leaves), "rank": number // self.leaves,
            "job": JOB, "workers": self.count, "format": self.format,
            "checksum": self.format != "f32", "lanes": self.lanes, "threads": self.threads,
            "timeout": TIMEOUT_S, "run": "worlds", "run_number": self.run_number, **other})

    # ---- sums ----

    def draw_vectors(self, most=3):
        """(size, type, operation, scale) of vectors that are under way at once."""
        found = []
        for _ in range(self.draw.choice((1, 1, most))):
            kind = self.draw.choice(FORMATS[self.format])
            size = self.draw.choice((1, self.draw.randint(2, 200), self.draw.randint(200, 5000)))
            of_floats = kind is np.float32
            found.append((size, kind, self.draw.choice(("sum", "mean")) if of_floats else "sum",
                          self.draw.randint(*SCALES[self.format]) if of_floats else 0))
        return found

    def draw_marks(self, vectors):
        """For each vector a mark of each rank's."""
        return [{rank.number: draw_mark(self.draw) for rank in self.ranks} for _ in vectors]

    def order_sum(self, vectors, by=None, ranks=None, marks=None):
        """These ranks give vectors of these shapes, or rank r those of by[r]. Returns all marks."""
        marks = marks or self.draw_marks(vectors)
        for rank in self.ranks if ranks is None else ranks:
            rank.order("sum", [(mark[rank.number], *shape) for mark, shape in
                               zip(marks, (by or {}).get(rank.number, vectors))])
        return marks

    def check(self, answers, vectors, marks, must_work):
        """Whether all these ranks have the sums of vectors of these shapes and marks."""
        for rank, (how, what) in answers.items():
            if how == "done":
                for number, (shape, mark, got) in enumerate(zip(vectors, marks, what)):
                    right = expected(mark, *shape)
                    if not np.array_equal(got, right):
                        at = int(np.argmax(got != right))
                        raise Wrong(f"rank {rank} got a wrong sum of vector {number}, {shape}: element {at} is "
                                    f"{got[at]}, not {right[at]}; the ranks gave {mark}")
                self.sums += len(what)
            elif must_work:
                raise Wrong(f"rank {rank} got an error where nothing but the wire was bad: {what}")
        return all(how == "done" for how, _ in answers.values())

    def answers(self, ranks=None):
        """What each of these ranks answers to its last order."""
        found = {}
        for rank in self.ranks if ranks is None else ranks:
            found[rank.number] = rank.answer()
            if found[rank.number] is None:
                raise Wrong(f"a call of rank {rank.number} doesn't end\n{json.dumps(self.jobs())}")
        return found

    def jobs(self):
        return [json.loads(self.olaf(node, "status", "in", "--json").stdout)["jobs"] for node in range(self.nodes)]

    def start(self):
        """All ranks start and sum, as in a training loop. A rank may agree with another one's last start(), which
        was interrupted (docs/rounds.md, "Sessions"). Its first sum says so, and it starts once more; again and
        again, while a node's question is lost on the way to its parent."""
        vectors = self.draw_vectors(1)
        marks, end = self.draw_marks(vectors), time.monotonic() + STARTS_WITHIN_S
        for rank in self.ranks:
            rank.order("start")
        under_way = {rank.number: "start" for rank in self.ranks}
        while under_way:
            for rank in answering([rank for rank in self.ranks if rank.number in under_way]):
                answer = self.answers([rank])
                if answer[rank.number][0] != "done":
                    if time.monotonic() > end:
                        raise Wrong(f"the ranks don't start again: {answer}\n{json.dumps(self.jobs())}")
                    rank.order("start")
                    under_way[rank.number] = "start"
                elif under_way[rank.number] == "start":
                    self.order_sum(vectors, ranks=[rank], marks=marks)
                    under_way[rank.number] = "sum"
                else:
                    self.check(answer, vectors, marks, must_work=True)
                    del under_way[rank.number]

    # ---- steps ----

    def step_sum(self):
        vectors = self.draw_vectors()
        marks = self.order_sum(vectors)
        self.check(self.answers(), vectors, marks, must_work=True)

    def step_misfit(self):
        """One rank gives another size, type or operation. Nobody gets that sum."""
        if self.count == 1:
            return
        size, kind, operation, scale = self.draw_vectors(1)[0]
        others = [(size + self.draw.choice((1, 7, 1000)), kind, operation, scale)]
        others += [(size, other, "sum", 0) for other in FORMATS[self.format] if other is not kind]
        if kind is np.float32:
            others.append((size, kind, "mean" if operation == "sum" else "sum", scale))
        by = {self.draw.randrange(self.count): [self.draw.choice(others)]}
        self.order_sum([(size, kind, operation, scale)], by)
        for rank, (how, what) in self.answers().items():
            if how == "done":
                raise Wrong(f"rank {rank} got {what[0][:5]} where ranks gave {(size, kind, operation)} and {by}")
        self.start()

    def within_a_sum(self):
        """A rank, while all sum; and what they give."""
        vectors = self.draw_vectors()
        marks = self.order_sum(vectors)
        time.sleep(self.draw.uniform(0, 0.01))
        return self.draw.randrange(self.count), vectors, marks

    def step_killed(self):
        """A rank dies while all sum, and begins anew."""
        victim, vectors, marks = self.within_a_sum()
        self.ranks[victim].kill()
        self.ranks[victim] = self.rank(victim)
        self.begins_anew(victim, vectors, marks)

    def step_interrupted(self):
        """Ctrl-C in one rank's sum, as in a notebook; then start()."""
        victim, vectors, marks = self.within_a_sum()
        self.ranks[victim].interrupt()
        self.check(self.answers([self.ranks[victim]]), vectors, marks, must_work=False)
        self.begins_anew(victim, vectors, marks)

    def begins_anew(self, victim, vectors, marks):
        """The others may get the sum that they gave to. Their next one isn't with the rank that began anew."""
        self.ranks[victim].order("start")
        others = [rank for rank in self.ranks if rank.number != victim]
        told, gone_on, next_vectors = {}, set(), self.draw_vectors()
        while len(told) < len(others):
            for rank in answering([other for other in others if other.number not in told]):
                answer = self.answers([rank])
                if rank.number in gone_on and answer[rank.number][0] == "done":
                    raise Wrong(f"rank {rank.number} summed with rank {victim}, which has begun anew: {answer}")
                if self.check(answer, vectors, marks, must_work=False):
                    gone_on.add(rank.number)
                    self.order_sum(next_vectors, ranks=[rank])
                else:
                    told[rank.number] = answer[rank.number][1]
        for rank, text in told.items():
            if "nothing came for" in text:
                raise Wrong(f"rank {rank} wasn't told that rank {victim} began anew: {text}")
        # Its start() may wait for the others.
        self.ranks[victim].interrupt()
        self.answers([self.ranks[victim]])
        self.start()

    def step_stranger(self):
        """A process of another training takes a rank of the job. It is refused, and disturbs nobody."""
        stranger = self.rank(self.draw.randrange(self.count), run="another")
        stranger.order("start")
        try:
            self.step_sum()
            how, what = self.answers([stranger]).popitem()[1]
            if how == "done" or "in use" not in what:
                raise Wrong(f"a process of another run wasn't refused: {how}, {what}")
        finally:
            stranger.kill()

    def step_newer(self):
        """A newer number of the training takes all ranks over."""
        old = self.ranks
        self.run_number += 1
        self.ranks = [self.rank(number) for number in range(self.count)]
        try:
            self.start()
            self.step_sum()
            vectors = self.draw_vectors(1)
            for rank in old:
                rank.order("sum", [(draw_mark(self.draw), *vectors[0])])
            for rank, (how, what) in self.answers(old).items():
                if how == "done":
                    raise Wrong(f"rank {rank} of an older run got {what}")
            self.step_sum()
        finally:
            for rank in old:
                rank.kill()

    def step_node(self):
        """Somebody gives the node orders while the ranks sum."""
        vectors = self.draw_vectors()
        marks = self.order_sum(vectors)
        time.sleep(self.draw.uniform(0, 0.01))
        what = self.draw.choice(("reset", "set", "halt", "replace", "attach"))
        node, job = self.draw.randrange(self.nodes), JOB + self.draw.randrange(self.threads)
        if what == "reset":
            self.olaf(node, "job", "reset", "in", str(job))
        elif what == "set":
            self.olaf(node, "job", "remove", "in", str(job))
            self.set_job(node, job)
        elif what == "halt":
            self.olaf(node, "job", "halt", "in", str(job))
            time.sleep(self.draw.uniform(0, 0.05))
            self.olaf(node, "job", "resume", "in", str(job))
        elif what == "replace":
            self.olaf(node, "attach", "in", "--replace")
        else:
            self.olaf(node, "detach", "in", "--force")
            self.attach(node)
        if not self.check(self.answers(), vectors, marks, must_work=what in ("halt", "replace")):
            self.start()
        self.step_sum()  # a job that was set anew is nobody's before

    # ---- the whole ----

    def set_faults(self, **chances):
        for relay in self.relays:
            relay.set(**chances)

    def run(self, end):
        self.build()
        self.start()
        self.set_faults(**self.bad)
        steps = ([self.step_sum] * 4 + [self.step_misfit, self.step_killed, self.step_interrupted,
                                        self.step_stranger, self.step_newer, self.step_node])
        for _ in range(STEPS):
            if time.monotonic() > end:
                break
            step = self.draw.choice(steps)
            print(f"  {step.__name__}", end="", flush=True)
            began = time.monotonic()
            step()
            self.steps[step.__name__] += 1
            print(f": {time.monotonic() - began:.2f} s", flush=True)
        self.set_faults()
        self.step_sum()
        for rank in self.ranks:
            rank.order("finish")
        answers = self.answers()
        if any(answer != ("done", True) for answer in answers.values()):
            raise Wrong(f"the ranks don't finish: {answers}")


def main():
    asked = options("scripts/soak --sums", __doc__, "world")
    seed = asked.seed
    end = time.monotonic() + asked.for_s
    number, steps, sums, faults = asked.world, collections.Counter(), 0, collections.Counter()
    while time.monotonic() < end or number == asked.world:
        world = World(asked.olaf, seed, number)
        print(world.head, flush=True)
        try:
            # The first one is complete however long it takes: a failure is seen again by it.
            world.run(end if number > asked.world else float("inf"))
        except (Wrong, RuntimeError, subprocess.SubprocessError) as error:
            print(f"\nFAILED {world.head}\n{error}\n"
                  f"again: sudo scripts/soak --sums --seed {seed} --world {number} --for 1s", flush=True)
            return 1
        finally:
            world.close()
        steps.update(world.steps)
        sums += world.sums
        for relay in world.relays:
            faults.update(relay.done())
        number += 1
    print(f"passed: {number - asked.world} worlds, {sums} right sums at ranks; steps "
          f"{dict(steps)}; frames {dict(faults)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
