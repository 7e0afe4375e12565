# SPDX-License-Identifier: BSD-2-Clause
"""`olaf admit`: what it admits no run breaks, and each run that it shows does; held against a simulation of its own."""

import collections
import json
import math
import os
import pathlib
import random
import subprocess
import unittest

import jsonschema

OLAF = pathlib.Path(os.environ["OLAF_BUILD"]) / "loader/olaf"
RUNS = int(os.environ.get("OLAF_WORLDS", "1000")) * 10
MS = 10**6
SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/schema/admit.json").read_text(encoding="utf-8"))


def olaf(*arguments):
    return subprocess.run([OLAF, "admit", *map(str, arguments)], capture_output=True, text=True, check=False)


class World:
    """Clusters (interval, jitter, bytes) and hops (rate, places, clusters), in ns and bit/s; delays of zero."""

    def __init__(self, clusters, hops):
        self.clusters, self.hops = clusters, hops

    def options(self, objective, *more):
        found = []
        for i, (interval, jitter, size) in enumerate(self.clusters):
            found += ["--cluster", f"{i}:{interval}ns+-{jitter}{'ns' if jitter else ''}:{size}"]
        for rate, places, ids in self.hops:
            found += ["--hop", f"{rate / 1000:.3f}kbit:{places}:{','.join(map(str, ids))}:0"]
        return [*found, "--objective", objective, *more]

    def frames(self, cluster):
        """Bytes of each segment's frame, at an MTU of 1500."""
        lanes, most = math.ceil(self.clusters[cluster][2] / 8), (1472 - 48) // 8
        return [8 * min(most, lanes - i) + 48 + 8 + 20 + 14 for i in range(0, lanes, most)]

    def service(self, hop, size):
        return -(-size * 8 * 10**9 // self.hops[hop][0])

    def entries(self, hop):
        return sum(len(self.frames(c)) for c in self.hops[hop][2])

    def ways(self, cluster):
        return [h for h, hop in enumerate(self.hops) if cluster in hop[2]]

    def bound(self, cluster):
        interval, jitter, _ = self.clusters[cluster]
        return interval + jitter + sum((self.entries(h) + 1) * max(self.service(h, size) for c in self.hops[h][2] for size in self.frames(c))
                                       for h in self.ways(cluster))

    def run(self, arrivals):
        """({cluster: its peaks}, how many were lost) of [(time, cluster)], a hop after the other."""
        frames = {c: self.frames(c) for c in range(len(self.clusters))}
        passing = [(at, c, s, at) for at, c in arrivals for s in range(len(frames[c]))]
        done, lost = [], 0
        for h, (_, places, ids) in enumerate(self.hops):
            mine = sorted((one for one in passing if one[1] in ids), key=lambda one: one[0])
            others = [one for one in passing if one[1] not in ids]
            out, waiting, free, i = [], collections.OrderedDict(), 0, 0
            while i < len(mine) or waiting:
                if waiting and (i == len(mine) or free <= mine[i][0]):
                    (c, s), generated = waiting.popitem(last=False)
                    free += self.service(h, frames[c][s])
                    out.append((free, c, s, generated))
                    continue
                at, c, s, generated = mine[i]
                i += 1
                if free <= at and not waiting:
                    free = at + self.service(h, frames[c][s])
                    out.append((free, c, s, generated))
                elif (c, s) in waiting:
                    waiting[c, s] = max(waiting[c, s], generated)
                elif len(waiting) < places:
                    waiting[c, s] = generated
                else:
                    lost += 1
            passing = others + out
        peaks, newest = collections.defaultdict(list), {c: [None] * len(f) for c, f in frames.items()}
        done = sorted(passing, key=lambda one: one[0])
        for at, c, s, generated in done:
            before = None if None in newest[c] else min(newest[c])
            newest[c][s] = max(generated, newest[c][s] or 0)
            after = None if None in newest[c] else min(newest[c])
            if before is not None and after != before:
                peaks[c].append(at - before)
        return peaks, lost

    def figure(self, kind, arrivals):
        peaks, lost = self.run(arrivals)
        if kind == "loss":
            return lost
        if kind == "peak":
            return max((max(found) for found in peaks.values()), default=0)
        means = [sum(found) / len(found) for found in peaks.values()]
        return max(means) - min(means) if means else 0

    def drawn(self, draw):
        """Arrivals that the intervals allow, often at their edges, and often together."""
        span, arrivals = 8 * max(i + j for i, j, _ in self.clusters), []
        together = draw.random() < 0.5
        for c, (interval, jitter, _) in enumerate(self.clusters):
            at = draw.randrange(1 + (self.bound(c) - interval) if together else interval)
            while at < span:
                arrivals.append((at, c))
                at += interval + draw.choice([-jitter, jitter, draw.randint(-jitter, jitter)])
        draw.shuffle(arrivals)
        return sorted(arrivals, key=lambda one: one[0])


def world(draw):
    count = draw.randint(1, 5)
    clusters = [(draw.choice([20, 50, 100, 300]) * MS, draw.choice([0, 0, 2, 10]) * MS, draw.choice([100, 1000, 1424, 4000])) for _ in range(count)]
    everyone = list(range(count))
    hops = [(draw.choice([100_000, 400_000, 1_000_000, 10_000_000]), draw.choice([2, 5, 8, 20]), everyone)]
    if count > 1 and draw.random() < 0.4:
        split = draw.randint(1, count - 1)
        hops = [(draw.choice([400_000, 1_000_000]), 20, everyone[:split]), (1_000_000, 20, everyone[split:]), *hops]
    return World(clusters, hops)


class Admission(unittest.TestCase):
    def decided(self, world, objective, *more):
        done = olaf(*world.options(objective, *more), "--json")
        verdict = json.loads(done.stdout)
        jsonschema.validate(verdict, SCHEMA)
        self.assertEqual(done.returncode, {"admitted": 0, "rejected": 1, "unknown": 3}[verdict["verdict"]], done.stderr)
        return verdict

    def expect_broken(self, world, kind, most, verdict):
        """The arrivals that were shown are allowed, and reach what was told."""
        arrivals = [(one["at_ns"], one["cluster"]) for one in verdict["arrivals"]]
        self.assertEqual(arrivals, sorted(arrivals, key=lambda one: one[0]))
        for c, (interval, jitter, _) in enumerate(world.clusters):
            times = [at for at, cluster in arrivals if cluster == c]
            for one, other in zip(times, times[1:]):
                self.assertTrue(interval - jitter - 1 <= other - one <= interval + jitter + 1, (one, other))
        figure = world.figure(kind, arrivals)
        self.assertGreater(figure, most)
        self.assertEqual(int(figure), verdict["peak_ns"])

    def test_what_is_admitted_no_run_breaks_and_what_is_rejected_a_run_does(self):
        kinds, left = collections.Counter(), RUNS
        for seed in range(60):
            draw = random.Random(seed)
            one = world(draw)
            kind = draw.choice(["peak", "peak", "fairness", "loss"])
            bound = max(one.bound(c) for c in range(len(one.clusters)))
            most = 0 if kind == "loss" else int(bound * draw.choice([0.5, 0.8, 0.95, 1.0, 1.01]))
            verdict = self.decided(one, "loss=0" if kind == "loss" else f"{kind}<={most}ns", "--time-limit", "300ms")
            kinds[verdict["verdict"]] += 1
            if verdict["verdict"] == "admitted":
                runs = min(left, RUNS // 10)
                left -= runs
                for _ in range(runs):
                    self.assertLessEqual(one.figure(kind, one.drawn(draw)), most, f"world {seed}, {kind}")
            elif verdict["verdict"] == "rejected":
                self.expect_broken(one, kind, most, verdict)
        self.assertGreater(min(kinds["admitted"], kinds["rejected"]), 10, kinds)
        self.assertEqual(left, 0, "all runs were simulated")

    def test_the_papers_cases_are_decided_at_once(self):
        """Section 6: two clusters every 100 ms, and one of them every 300 ms."""
        equal, unequal = (World([(100 * MS, 0, 1000), (second * MS, 0, 1000)], [(4_360_000, 8, [0, 1])]) for second in (100, 300))
        verdict = self.decided(equal, "fairness<=100ms")
        self.assertEqual((verdict["verdict"], verdict["bound_ns"]), ("admitted", 4 * MS), "S is 2 ms")
        self.assertLess(verdict["seconds"], 0.1)
        verdict = self.decided(unequal, "fairness<=100ms")
        self.assertEqual(verdict["verdict"], "rejected")
        self.expect_broken(unequal, "fairness", 100 * MS, verdict)
        self.assertLess(verdict["seconds"], 0.1)
        self.assertEqual(self.decided(World([(100 * MS, 0, 1000), (verdict["nearest"]["interval_ns"], 0, 1000)], unequal.hops), "fairness<=100ms")["verdict"], "admitted")

    def test_the_bound_counts_the_update_itself(self):
        """(N + 1)·S, not N·S: of a loaded queue it is reached."""
        one = World([(100 * MS, 10 * MS, 1000)] * 2, [(145_333, 8, [0, 1])])
        bound = one.bound(0)
        self.assertEqual(self.decided(one, f"peak<={bound}ns")["verdict"], "admitted")
        verdict = self.decided(one, f"peak<={bound - MS}ns")
        self.assertEqual(verdict["verdict"], "rejected")
        self.expect_broken(one, "peak", bound - MS, verdict)

    def test_z3_proves_what_the_bound_is_too_careful_for(self):
        one = World([(100 * MS, 0, 1000)] * 2, [(4_360_000, 8, [0, 1])])
        verdict = self.decided(one, "peak<=105ms", "--time-limit", "3s")
        self.assertEqual((verdict["verdict"], verdict["bound_ns"]), ("admitted", 106 * MS))
        self.assertIn("Z3", verdict["why"])
        self.assertEqual(self.decided(one, "peak<=103ms", "--time-limit", "3s")["verdict"], "rejected")

    def test_what_would_be_admitted_is(self):
        one = World([(100 * MS, 10 * MS, 1000), (40 * MS, 0, 1000), (30 * MS, 0, 1000)], [(400_000, 8, [0, 1, 2])])
        nearest = self.decided(one, "peak<=150ms")["nearest"]
        self.assertTrue(nearest["interval_ns"] and nearest["rate_bps"])
        self.assertIsNone(nearest["places"])
        for better in (World([(nearest["interval_ns"], 10 * MS, 1000), *one.clusters[1:]], one.hops),
                       World(one.clusters, [(nearest["rate_bps"], 8, [0, 1, 2])])):
            self.assertEqual(self.decided(better, "peak<=150ms")["verdict"], "admitted")
        full = World([(100 * MS, 0, 1000)] * 6, [(145_333, 3, list(range(6)))])
        verdict = self.decided(full, "loss=0")
        self.assertEqual((verdict["verdict"], verdict["bound_ns"], verdict["nearest"]["places"]), ("rejected", None, 6))
        self.assertEqual(self.decided(World(full.clusters, [(145_333, 6, list(range(6)))]), "loss=0")["verdict"], "admitted")

    def test_a_verdict_comes_within_the_limit(self):
        one = World([(100 * MS, 10 * MS, 1000)] * 5, [(4_360_000, 8, list(range(5)))])
        verdict = self.decided(one, f"peak<={one.bound(0) - MS}ns", "--time-limit", "200ms")
        self.assertLess(verdict["seconds"], 1.2)


    def test_a_cluster_that_is_much_faster_than_another_takes_no_longer(self):
        one = World([(1000, 0, 100), (3600 * 1000 * MS, 0, 100)], [(10**9, 8, [0, 1])])
        self.assertEqual(self.decided(one, "fairness<=1s")["verdict"], "rejected")


class BadInput(unittest.TestCase):
    def refused(self, words, *arguments):
        done = olaf(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(words, done.stderr)

    def test_is_told_with_the_remedy(self):
        cluster, hop, peak = ["--cluster", "0:100ms:1kb"], ["--hop", "1mbit"], ["--objective", "peak<=1s"]
        self.refused("write ID:INTERVAL", "--cluster", "0:100ms", *hop, *peak)
        self.refused("write 100us, 1ms or 1s", "--cluster", "0:100:1kb", *hop, *peak)
        self.refused("3600s", "--cluster", "0:100000s:1kb", *hop, *peak)
        self.refused("write bytes, or 40kb", "--cluster", "0:100ms:many", *hop, *peak)
        self.refused("no less than its interval", "--cluster", "0:100ms±100ms:1kb", *hop, *peak)
        self.refused("given twice", *cluster, *cluster, *hop, *peak)
        self.refused("there is no cluster 7", *cluster, "--hop", "1mbit:8:7", *peak)
        self.refused("it passes no hop", *cluster, "--cluster", "1:1s:1kb", "--hop", "1mbit:8:0", *peak)
        self.refused("a hop needs a number", *cluster, "--hop", "line", *peak)
        self.refused("in quotes for the shell", *cluster, *hop, "--objective", "age<=1s")
        self.refused("segments", "--cluster", "0:100ms:2gb", *hop, *peak)
        self.refused("--objective", *cluster, *hop)


if __name__ == "__main__":
    unittest.main()
