# SPDX-License-Identifier: BSD-2-Clause
"""`olaf admit`: what it admits no run breaks, and each run that it shows does; held against a simulation of its own."""

import collections
import json
import math
import os
import pathlib
import random
import re
import subprocess
import unittest

import jsonschema

OLAF = pathlib.Path(os.environ["OLAF_BUILD"]) / "loader/olaf"
RUNS = int(os.environ.get("OLAF_WORLDS", "1000")) * 10
MS = 10**6
SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/schema/admit.json").read_text(encoding="utf-8"))


PATIENCE = 60  # seconds; far above what any case may take, far below what one without a limit takes


def olaf(*arguments):
    return subprocess.run([OLAF, "admit", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=PATIENCE)


def nanoseconds(text):
    number, unit = re.fullmatch(r"([0-9.]+)(ns|us|ms|s)", text).groups()
    return round(float(number) * {"ns": 1, "us": 1000, "ms": MS, "s": 1000 * MS}[unit])


class World:
    """Clusters (interval, jitter, bytes) and hops (rate, places, clusters[, delay]), in ns and bit/s; no delay is one of zero."""

    def __init__(self, clusters, hops):
        self.clusters, self.hops = clusters, [(*hop, 0)[:4] for hop in hops]

    def options(self, objective, *more):
        found = []
        for i, (interval, jitter, size) in enumerate(self.clusters):
            found += ["--cluster", f"{i}:{interval}ns+-{jitter}ns:{size}"]
        for rate, places, ids, delay in self.hops:
            found += ["--hop", f"{rate / 1000:.3f}kbit:{places}:{','.join(map(str, ids))}:{delay}ns"]
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
                                       + self.hops[h][3] for h in self.ways(cluster))

    def run(self, arrivals):
        """({cluster: its peaks}, how many were lost) of [(time, cluster)], a hop after the other."""
        frames = {c: self.frames(c) for c in range(len(self.clusters))}
        passing = [(at, c, s, at) for at, c in arrivals for s in range(len(frames[c]))]
        done, lost = [], 0
        for h, (_, places, ids, delay) in enumerate(self.hops):
            mine = sorted((one for one in passing if one[1] in ids), key=lambda one: one[0])
            others = [one for one in passing if one[1] not in ids]
            out, waiting, free, i = [], collections.OrderedDict(), 0, 0
            while i < len(mine) or waiting:
                if waiting and (i == len(mine) or free <= mine[i][0]):
                    (c, s), generated = waiting.popitem(last=False)
                    free += self.service(h, frames[c][s])
                    out.append((free + delay, c, s, generated))
                    continue
                at, c, s, generated = mine[i]
                i += 1
                if free <= at and not waiting:
                    free = at + self.service(h, frames[c][s])
                    out.append((free + delay, c, s, generated))
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
        """Arrivals that the intervals allow, often at their edges: all begin at once, one frame after the other, or anyhow; all
        gaps are the shortest, the longest, one of both, or any."""
        span, arrivals = 8 * max(i + j for i, j, _ in self.clusters), []
        begin, pace = draw.choice(["at once", "in turn", "nearly", "anyhow"]), draw.choice(["shortest", "longest", "either", "any", "mixed"])
        step = max(self.service(0, size) for c in range(len(self.clusters)) for size in self.frames(c))
        order = draw.sample(range(len(self.clusters)), len(self.clusters))
        for c, (interval, jitter, _) in enumerate(self.clusters):
            at = {"at once": 0, "in turn": step * order.index(c), "nearly": draw.randrange(1 + self.bound(c) - interval),
                  "anyhow": draw.randrange(interval)}[begin]
            while at < span:
                arrivals.append((at, c))
                at += interval + {"shortest": -jitter, "longest": jitter, "either": draw.choice([-jitter, jitter]), "any": draw.randint(-jitter, jitter),
                                  "mixed": draw.choice([-jitter, jitter, draw.randint(-jitter, jitter)])}[pace]
        # Of equal times any may come first.
        draw.shuffle(arrivals)
        return sorted(arrivals, key=lambda one: one[0])


def world(draw):
    count = draw.randint(1, 5)
    clusters = [(draw.choice([20, 50, 100, 300]) * MS, draw.choice([0, 0, 2, 10]) * MS, draw.choice([100, 1000, 1424, 4000])) for _ in range(count)]
    everyone = list(range(count))

    def delay():
        return draw.choice([0, 0, 100_000, 7 * MS])

    hops = [(draw.choice([100_000, 400_000, 1_000_000, 10_000_000]), draw.choice([2, 5, 8, 20]), everyone, delay())]
    if count > 1 and draw.random() < 0.4:
        split = draw.randint(1, count - 1)
        hops = [(draw.choice([400_000, 1_000_000]), 20, everyone[:split], delay()), (1_000_000, 20, everyone[split:], delay()), *hops]
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
                self.assertTrue(interval - jitter <= other - one <= interval + jitter, (one, other))
        figure = world.figure(kind, arrivals)
        self.assertGreater(figure, most)
        self.assertEqual(int(figure), verdict["peak_ns"])

    def test_what_is_admitted_no_run_breaks_and_what_is_rejected_a_run_does(self):
        kinds, admitted = collections.Counter(), []
        for seed in range(60):
            draw = random.Random(seed)
            one = world(draw)
            kind = draw.choice(["peak", "peak", "fairness", "loss"])
            bound = max(one.bound(c) for c in range(len(one.clusters)))
            most = 0 if kind == "loss" else int(bound * draw.choice([0.5, 0.8, 0.95, 1.0, 1.01]))
            verdict = self.decided(one, "loss=0" if kind == "loss" else f"{kind}<={most}ns", "--time-limit", "300ms")
            kinds[verdict["verdict"]] += 1
            if verdict["verdict"] == "admitted":
                admitted.append((seed, draw, one, kind, most))
            elif verdict["verdict"] == "rejected":
                self.expect_broken(one, kind, most, verdict)
        self.assertGreater(min(kinds["admitted"], kinds["rejected"]), 10, kinds)
        for seed, draw, one, kind, most in admitted:
            for _ in range(-(-RUNS // len(admitted))):
                self.assertLessEqual(one.figure(kind, one.drawn(draw)), most, f"world {seed}, {kind}")

    def test_the_papers_cases_are_decided_at_once(self):
        """Section 6: two clusters every 100 ms, and one of them every 300 ms."""
        equal, unequal = (World([(100 * MS, 0, 1000), (second * MS, 0, 1000)], [(4_360_000, 8, [0, 1])]) for second in (100, 300))
        at_once = ["--time-limit", "1ms"]
        verdict = self.decided(equal, "fairness<=100ms", *at_once)
        self.assertEqual((verdict["verdict"], verdict["bound_ns"]), ("admitted", 4 * MS), "S is 2 ms")
        verdict = self.decided(unequal, "fairness<=100ms", *at_once)
        self.assertEqual(verdict["verdict"], "rejected")
        self.expect_broken(unequal, "fairness", 100 * MS, verdict)
        self.assertEqual(verdict["nearest"]["clusters"], [1])
        self.assertEqual(self.decided(World([(100 * MS, 0, 1000), (verdict["nearest"]["interval_ns"], 0, 1000)], unequal.hops), "fairness<=100ms")["verdict"], "admitted")

    def test_the_bound_counts_the_update_itself(self):
        """(N + 1)·S, not N·S: of a loaded queue it is reached."""
        one = World([(100 * MS, 10 * MS, 1000)] * 2, [(145_333, 8, [0, 1])])
        bound = one.bound(0)
        self.assertEqual(self.decided(one, f"peak<={bound}ns")["verdict"], "admitted")
        verdict = self.decided(one, f"peak<={bound - MS}ns")
        self.assertEqual(verdict["verdict"], "rejected")
        self.expect_broken(one, "peak", bound - MS, verdict)

    def test_a_hops_delay_is_a_part_of_each_peak(self):
        """With a delay of 7 ms each figure of the test above is that much higher."""
        one = World([(100 * MS, 10 * MS, 1000)] * 2, [(145_333, 8, [0, 1], 7 * MS)])
        bound = one.bound(0)
        self.assertEqual(self.decided(one, f"peak<={bound}ns")["verdict"], "admitted")
        verdict = self.decided(one, f"peak<={bound - MS}ns")
        self.assertEqual((verdict["verdict"], verdict["bound_ns"]), ("rejected", bound))
        self.expect_broken(one, "peak", bound - MS, verdict)
        sure = World([(100 * MS, 0, 1000)] * 2, [(4_360_000, 8, [0, 1], 7 * MS)])
        self.assertIn("Z3", self.decided(sure, "peak<=111ms")["why"])
        self.assertEqual(self.decided(sure, f"peak<={111 * MS - 1}ns")["verdict"], "rejected")

    def test_z3_proves_what_the_bound_is_too_careful_for(self):
        """Soon, whatever the limit is: the search leaves the time to it."""
        one = World([(100 * MS, 0, 1000)] * 2, [(4_360_000, 8, [0, 1])])
        verdict = self.decided(one, "peak<=105ms", "--time-limit", "3600s")
        self.assertEqual((verdict["verdict"], verdict["bound_ns"]), ("admitted", 106 * MS))
        self.assertIn("Z3", verdict["why"])
        self.assertEqual(self.decided(one, "peak<=103ms")["verdict"], "rejected")

    def test_a_nanosecond_below_what_is_reached_is_not_admitted(self):
        """104 ms, where both begin at once."""
        one = World([(100 * MS, 0, 1000)] * 2, [(4_360_000, 8, [0, 1])])
        self.assertEqual(one.figure("peak", [(at * MS, c) for at in (0, 100, 200) for c in (0, 1)]), 104 * MS)
        self.assertEqual(self.decided(one, "peak<=104ms")["verdict"], "admitted")
        for below in (1, 2, 3):
            self.assertEqual(self.decided(one, f"peak<={104 * MS - below}ns")["verdict"], "rejected")

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

    def test_what_would_be_admitted_is_as_it_is_told(self):
        """The words, not the JSON: fed back as they stand."""
        cluster = ["--cluster", "0:100ms:1kb"]
        for rate in ("9.1mbit", "9.2mbit", "9.3mbit", "9.4mbit"):
            hop, objective = ["--hop", f"{rate}:8"], ["--objective", "fairness<=100ms"]
            told = re.search("would be admitted: cluster 1 every (.*)\n", olaf(*cluster, "--cluster", "1:300ms:1kb", *hop, *objective).stdout)
            done = olaf(*cluster, "--cluster", f"1:{told[1]}:1kb", *hop, *objective)
            self.assertEqual(done.returncode, 0, f"{told[0]}: {done.stdout}")
        for rate in (33.7, 47.1, 51.3, 69.9, 83.7):
            hops, objective = ["--hop", f"{rate}kbit", "--hop", f"{2 * rate:.1f}kbit:::3ms"], ["--objective", "peak<=245ms"]
            told = re.search("would be admitted: hop 1 at (.*), hop 2 at (.*)\n", olaf(*cluster, *hops, *objective).stdout)
            done = olaf(*cluster, "--hop", told[1], "--hop", f"{told[2]}:::3ms", *objective)
            self.assertEqual(done.returncode, 0, f"{told[0]}: {done.stdout}")

    def test_one_interval_does_for_all_who_need_another(self):
        """Two that are too old; of fairness, one that is too young beside one whose jitter leaves no shorter interval."""
        for clusters, objective, who in (([(100 * MS, 10 * MS, 1000)] * 2 + [(40 * MS, 0, 1000)], "peak<=100ms", [0, 1]),
                                         ([(100 * MS, 0, 1000), (300 * MS, 250 * MS, 1000)], "fairness<=300ms", [0])):
            one = World(clusters, [(4_360_000, 8, list(range(len(clusters))))])
            verdict = self.decided(one, objective)
            self.assertEqual((verdict["verdict"], verdict["nearest"]["clusters"]), ("rejected", who))
            interval = verdict["nearest"]["interval_ns"]
            better = World([(interval if c in who else i, j, size) for c, (i, j, size) in enumerate(clusters)], one.hops)
            self.assertEqual(self.decided(better, objective)["verdict"], "admitted")
            past = interval - 1 if interval > clusters[who[0]][0] else interval + 1
            worse = World([(past if c in who else i, j, size) for c, (i, j, size) in enumerate(clusters)], one.hops)
            self.assertGreater(self.decided(worse, objective)["bound_ns"], nanoseconds(objective.split("=")[1]))

    def test_the_words_have_the_run_as_it_is(self):
        options = World([(100 * MS, 0, 1000), (300 * MS, 0, 1000)], [(4_360_000, 8, [0, 1])]).options("fairness<=100ms")
        told = re.findall(r"^ +(\S+)  cluster ([0-9]+)$", olaf(*options).stdout, re.MULTILINE)
        arrivals = json.loads(olaf(*options, "--json").stdout)["arrivals"]
        self.assertEqual([(nanoseconds(at), int(cluster)) for at, cluster in told], [(one["at_ns"], one["cluster"]) for one in arrivals])

    def test_a_limit_ends_a_run_that_takes_longer(self):
        """Ten clusters that send a thousand segments each millisecond, and one that is slow: a run lasts for minutes if all of it is simulated."""
        heavy = [option for c in range(10) for option in ("--cluster", f"{c}:1ms:1.4mb")]
        done = olaf(*heavy, "--cluster", "10:10s:1kb", "--hop", "100mbit", "--objective", "peak<=1ms", "--time-limit", "10ms", "--json")
        self.assertIn(done.returncode, (1, 3), done.stderr)
        self.assertEqual(done.stderr, "")

    def test_a_thousand_clusters_are_no_more_work_than_they_must_be(self):
        many = World([(100 * MS, 0, 1000)] * 999 + [(3000 * MS, 0, 1000)], [(10**9, 1000, list(range(1000)))])
        verdict = self.decided(many, "fairness<=1s", "--time-limit", "1s")
        self.assertEqual((verdict["verdict"], verdict["nearest"]["clusters"]), ("rejected", [999]))

    def test_a_cluster_that_is_much_faster_than_another_takes_no_longer(self):
        one = World([(1000, 0, 100), (3600 * 1000 * MS, 0, 100)], [(10**9, 8, [0, 1])])
        self.assertEqual(self.decided(one, "fairness<=1s")["verdict"], "rejected")

    def test_no_jitter_and_no_delay_may_have_a_unit(self):
        for zero in ("0", "0ns", "0us", "0ms", "0s", "0.0ms"):
            done = olaf("--cluster", f"0:100ms+-{zero}:1kb", "--hop", f"1mbit:8::{zero}", "--objective", "peak<=1s", "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([term["name"].split(":")[0] for term in json.loads(done.stdout)["terms"]], ["interval", "hop 1"])


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
        for size in ("2gb", "1000tb"):
            self.refused("segments", "--cluster", f"0:100ms:{size}", *hop, *peak)
        for delay in ("3601s", "9223372036854774784ns"):
            self.refused("3600s", *cluster, *["--hop", f"1gbit:8::{delay}"] * 2, *peak)
        self.refused("write 100us, 1ms or 1s", *cluster, "--hop", "1gbit:8::0h", *peak)
        heavy = [option for c in range(131) for option in ("--cluster", f"{c}:1s:65mb")]
        self.refused("a century", *heavy, *["--hop", "1kbit"] * 100, "--mtu", 65535, *peak)
        self.refused("a queue has room for 131072", *heavy, "--cluster", "131:1s:65mb", *hop, "--mtu", 65535, *peak)
        self.refused("--objective", *cluster, *hop)


if __name__ == "__main__":
    unittest.main()
