# SPDX-License-Identifier: BSD-2-Clause
"""What `olaf plan` and `olaf admit` decide, beside the figures of the papers whose strategies and model they have."""

import json
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import time

from evaluation.pictures import colour, figure, legend, save
from evaluation.playing import LANES, play, summary, write_trace
from evaluation.sharing import shared
from evaluation.spread import spread, text, verdict
from evaluation.topology import Line

TITLE = "Plans: trees and schedules of XAgg, GOAT and SwitchML++, admission of OLAF"
SOURCE = "GOAT, figures 13 to 16; XAgg, figure 12; SwitchML++, chapter 3; OLAF paper, section 6"
SHORT = "Plans"

# GOAT's setting: AlexNet in 120 pieces, a fifth of the switches aggregate, each with 64 MB, rates N(0.5, 0.2).
MODEL, PIECES, MEMORY, MEAN, SIGMA, FRAGMENTS = 240_000_000, 120, 64_000_000, 0.5, 0.2, 480
SIGMAS = (0.0, 0.1, 0.2, 0.3, 0.4)
NETWORKS = {"leaf-spine": ("leaf-spine:leaves=10,spines=10,hosts=50", 35), "fat-tree": ("fat-tree:k=8,hosts=192", 40)}
SOME = ",aggregators=20%"
# GB, as read off GOAT's figures: what reaches the server, what is added up in the network, traffic over all links.
PAPER = {("leaf-spine", "root"): {"goat": 0.06, "esa": 5.7, "atp": 6.7, "flat": 8.4},
         ("fat-tree", "in_network"): {"goat": 9.6, "esa": 3.2, "atp": 1.9},
         ("leaf-spine", "traffic"): {"goat": 13.7, "esa": 19.8, "atp": 20.9, "flat": 37.1}}
LARGE = "fat-tree:k=74"
# Two clusters with frames of 346 bytes: 2 ms each at the first rate, 60 ms at the second.
FAST_BPS, SLOW_BPS = 1_384_000, 46_133
ADMISSIONS = {"two clusters every 100 ms": (("100ms", "100ms"), FAST_BPS, "fairness<=100ms"),
              "one every 100, one every 300 ms": (("100ms", "300ms"), FAST_BPS, "fairness<=100ms"),
              "two every 100 ± 10 ms, a loaded queue": (("100ms+-10ms", "100ms+-10ms"), SLOW_BPS, "peak<=289ms")}
CALLED = {"goat": "GOAT", "goat-max": "GOAT, Eq. 4", "esa": "ESA", "atp": "ATP", "flat": "no aggregation"}


class Planner:
    """`olaf plan` of a build, with what it gives in GB."""

    def __init__(self, setting):
        self.olaf = setting.program("loader/olaf")
        setting.program("libexec/olaf/olaf-plan", packages="fleet")

    def json(self, *arguments):
        done = subprocess.run([self.olaf, "plan", *map(str, arguments)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"olaf plan {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def volumes(self, *arguments):
        predicted = self.json(*arguments, "--json")["predicted"]
        return {"traffic": predicted["traffic_bytes"], "root": predicted["root_bytes"], "in_network": predicted["in_network_bytes"]}


def volumes(planner, network, seed):
    """{strategy: its volumes}, of GOAT's setting."""
    words, workers = NETWORKS[network]
    given = [words + SOME, "--workers", workers, "--seed", seed, "--root", "ps", "--bytes", MODEL, "--sub-models", PIECES]
    found = {strategy: planner.volumes(*given, "--strategy", strategy) for strategy in ("goat", "goat-max", "grow", "flat")}
    document = planner.json(words + SOME, "--workers", workers, "--seed", seed, "--topology")
    for how in ("esa", "atp"):
        found[how] = shared(document, "ps", how, MODEL, MEMORY, FRAGMENTS, MEAN, SIGMA, seed)
    return found


def by_sigma(planner, seed):
    """{strategy: {sigma: traffic}} of the leaf-spine, and the part of its workers on whose way a switch aggregates."""
    words, workers = NETWORKS["leaf-spine"]
    document = planner.json(words + SOME, "--workers", workers, "--seed", seed, "--topology")
    found = {how: {sigma: shared(document, "ps", how, MODEL, MEMORY, FRAGMENTS, MEAN, sigma, seed) for sigma in SIGMAS} for how in ("esa", "atp")}
    return {how: {sigma: one["traffic"] for sigma, one in rows.items()} for how, rows in found.items()}, found["esa"][SIGMAS[0]]["passing"]


def trees(planner, network, seed):
    """Traffic of own trees where every switch aggregates, a part of what all workers send to the root: a host without a
    worker, drawn."""
    words, workers = NETWORKS[network]
    document = planner.json(words, "--workers", workers, "--seed", seed, "--topology")
    root = random.Random(seed).choice([host for host in document["hosts"] if not host["workers"]])
    root["aggregates"] = True
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(document, file)
        file.flush()
        found = {strategy: planner.volumes(file.name, "--root", root["name"], "--strategy", strategy)["traffic"] for strategy in ("grow", "flat")}
    return found["grow"] / found["flat"]


def xagg_tree(planner):
    """{server: its workers} of the testbed in XAgg's figure 12, by its own rule."""
    hosts = [{"name": f"W{i}", "at": "s", "workers": 1, "bandwidth": (40 if i <= 3 else 100) * 10**9, "round_ns": 10**9 - i * 10**6} for i in range(1, 8)]
    hosts += [{"name": name, "at": "s", "aggregates": True, "bandwidth": 10**11, "cores_idle": 44} for name in ("S1", "S2", "PS")]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"switches": [{"name": "s"}], "hosts": hosts}, file)
        file.flush()
        plan = planner.json(file.name, "--strategy", "kary", "--root", "PS", "--json")
    below = {}
    for worker in plan["workers"]:
        below.setdefault(worker["shards"][0]["node"], []).append(worker["name"])
    return below


def large(planner):
    """How long the largest takes, its JSON included, and the most memory."""
    started = time.monotonic()
    with open(os.devnull, "w", encoding="ascii") as nowhere:
        process = subprocess.Popen([planner.olaf, "plan", LARGE, "--root", "ps", "--json"], stdout=nowhere)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"olaf plan {LARGE} failed")
    return {"seconds": time.monotonic() - started, "mib": usage.ru_maxrss / 1024}


def admission(setting, planner, intervals, bps, objective):
    """The verdict, and what a real queue makes of the run that it shows."""
    clusters = [option for i, interval in enumerate(intervals) for option in ("--cluster", f"{i}:{interval}:{8 * LANES}b")]
    done = subprocess.run([planner.olaf, "admit", *clusters, "--hop", f"{bps / 1000:.3f}kbit:{len(intervals)}", "--objective", objective, "--json"],
                          capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"olaf admit: exit status {done.returncode} {done.stderr.strip()}")
    told = json.loads(done.stdout)
    found = {"verdict": told["verdict"], "objective": objective, "bound_ms": told["bound_ns"] / 1e6, "seconds": told["seconds"]}
    if told["verdict"] == "rejected":
        found["shown_ms"] = told["peak_ns"] / 1e6
        with Line(planner.olaf) as network, tempfile.TemporaryDirectory() as folder:
            network.attach_at("switch", f"{bps}bit", len(intervals), "--max-clusters", "16")
            trace = write_trace(pathlib.Path(folder) / "trace", [(one["at_ns"] / 1e3, one["cluster"], 0) for one in told["arrivals"]])
            seen = summary(play(setting, network, trace, clusters=len(intervals)))
        peaks = seen["cluster_peaks_ms"].values()
        found["replayed_ms"] = seen["highest_peak_ms"] if objective.startswith("peak") else max(peaks) - min(peaks)
    return found


def run(setting):
    planner = Planner(setting)
    seeds = range(setting.repeats(2, 10))
    found = {"networks": {}, "sigma": {}, "trees": {}}
    for network in NETWORKS:
        worlds = []
        for seed in seeds:
            setting.progress(f"{network}, seed {seed}")
            worlds.append(volumes(planner, network, seed))
        found["networks"][network] = {name: {what: [world[name][what] / 1e9 for world in worlds] for what in ("root", "in_network", "traffic")}
                                      for name in worlds[0]}
        found["trees"][network] = [trees(planner, network, seed) for seed in seeds]
    setting.progress("rates further apart")
    apart = [by_sigma(planner, seed) for seed in seeds]
    found["sigma"] = {how: {f"{sigma:g}": [world[how][sigma] / 1e9 for world, _ in apart] for sigma in SIGMAS} for how in ("esa", "atp")}
    found["passing"] = [passing for _, passing in apart]
    setting.progress(LARGE)
    found["large"] = large(planner)
    found["xagg"] = xagg_tree(planner)
    setting.progress("admission, and what it rejects on a real queue")
    found["admission"] = {name: admission(setting, planner, *case) for name, case in ADMISSIONS.items()}
    found["effort"] = f"{len(seeds)} networks of each kind"
    return found


def mean(values):
    return statistics.fmean(values)


def draw(result, directory):
    panels = (("leaf-spine", "root", "GB that reach the server (figure 13)"), ("fat-tree", "in_network", "GB added up in the network (figure 14)"),
              ("leaf-spine", "traffic", "GB over all links (figure 15)"))
    drawing, axes = figure(len(panels), 12, 3.8, "GOAT's comparison: 35 workers of a leaf-spine, 40 of a fat-tree")
    for axis, (network, what, title) in zip(axes, panels):
        rows = result["networks"][network]
        names = [name for name in CALLED if name in rows]
        paper = PAPER[network, what]
        places = range(len(names))
        axis.bar([place - 0.2 for place in places], [mean(rows[name][what]) for name in names], 0.38, color=colour("here"), label="here")
        axis.bar([place + 0.2 for place in places], [paper.get(name, 0) for name in names], 0.38, color=colour("the paper"), label="the paper")
        axis.set_xticks(list(places), [CALLED[name].replace(", ", ",\n").replace("no ", "no\n") for name in names], fontsize=8)
        axis.set_title(title, fontsize=10, loc="left")
    legend(axes)
    return [save(drawing, directory, "plans")]


def cells(rows, name, what):
    return text(spread(rows[name][what]), 1 if what != "root" else 2) if name in rows else "–"


def page(result):
    lines = []
    for (network, what), paper in PAPER.items():
        rows = result["networks"][network]
        label = {"root": "reach the server, GB (figure 13)", "in_network": "added up in the network, GB (figure 14)",
                 "traffic": "over all links, GB (figure 15)"}[what]
        for name in CALLED:
            if name in rows:
                lines.append(f"| {network}, {label} | {CALLED[name]} | {cells(rows, name, what)} | {paper.get(name, '–')} |")
    sigma = "\n".join(f"| {CALLED[how]} | " + " | ".join(f"{mean(values):.1f}" for values in result["sigma"][how].values()) + " |" for how in result["sigma"])
    leaf = result["networks"]["leaf-spine"]
    better = [min(grow, goat) / goat for grow, goat in zip(leaf["grow"]["traffic"], leaf["goat"]["traffic"])]
    tree = "; ".join(f"{node} ← {', '.join(workers)}" for node, workers in sorted(result["xagg"].items()))
    admitted = "\n".join(f"| {name} | `{row['objective']}` | {row['bound_ms']:.1f} | {row['verdict']} | {1e3 * row['seconds']:.2f} | "
                         + (f"{row['shown_ms']:.1f} | {row['replayed_ms']:.1f} |" if "shown_ms" in row else "– | – |") for name, row in result["admission"].items())
    return f"""Computed by `olaf plan` ([fleet.md](fleet.md)), on no wire. GOAT's setting: a model of 240 MB in 120 pieces, a fifth of the
switches aggregate and have 64 MB each, rates of N(0.5, 0.2). The paper says 221 MB a worker, but its figures have 240: 8.4 GB of 35
workers and 9.6 GB of 40. It doesn't give the mean of the rates. ATP and ESA are a model of flows (evaluation/sharing.py).

![Volumes](evaluation-plans.png)

| what | | here | the paper |
|---|---|---|---|
{chr(10).join(lines)}

**What doesn't come out, and why.**

- GOAT's 0.06 GB at the server. Each piece must come there once, so 0.24 GB is the least. 60 MB is a quarter of that, as if each of the four switches
  sent one.
- GOAT's 9.6 GB added up in the fat-tree. That is all that 40 workers send. Eq. 1 leaves out what costs as few links straight to the server. Eq. 4 gives
  the paper's figure. It is printed as equal to Eq. 1, and isn't: it drops what the way to the switch costs.
- The 37.1 GB without aggregation. A gradient crosses four links of a leaf-spine at most: 33.6 GB of 35 workers.
- GOAT's 13.7 GB over all links, 1.6 of each gradient. The memory of four switches holds the model once, so a piece is added up at one of them. That is
  two links or more from all workers but those of its own leaf: 16.8 GB, before any sum moves on.
- ESA's and ATP's 19.8 and 20.9 GB over all links. What is added up saves three links at most, and by the paper's own figures 2.7 and 1.7 GB don't come to the
  server: 29 and 32 GB of its 37.1 must be left.
- ESA ahead of ATP. Here both are within the range of the ten networks in all three figures: this model of flows can't tell them apart. The paper doesn't say
  what ATP loses in the fat-tree, 1.9 GB added up against ESA's 3.2.

**Rates further apart (figure 16).** Traffic in GB, by the standard deviation of the workers' rates. GOAT's plan doesn't depend on rates. In the paper ESA
and ATP are ahead of GOAT where all rates are equal. Here they aren't: only {text(spread([100 * part for part in result["passing"]]), 0)} % of the workers have a switch that
aggregates on their way to the server, and nobody adds up what the others send.

| | {" | ".join(f"{sigma:g}" for sigma in SIGMAS)} |
|---|{"---|" * len(SIGMAS)}
{sigma}
| GOAT | {" | ".join(f"{mean(leaf['goat']['traffic']):.1f}" for _ in SIGMAS)} |

**Several levels instead of GOAT's two.** `grow` adds up at every switch on the way that aggregates. Where all do, its traffic is
{" and ".join(f"{100 - 100 * mean(result['trees'][network]):.0f} % ({network})" for network in NETWORKS)} below what it is without aggregation (GOAT: 63.1 %). Where a fifth does, the better of `grow` and `goat` is
{100 - 100 * mean(better):.0f} % below `goat` on the leaf-spine.

**XAgg's own tree.** `kary` gives its testbed the tree of its figure 12: {tree}.

**At scale.** {LARGE}, 101,306 workers: {result["large"]["seconds"]:.1f} s and {result["large"]["mib"]:.0f} MiB, its JSON included.

**Admission** by `olaf admit`. The paper's Z3 takes about 40 s for its two cases, the first two rows. The run that a rejection shows was played through a
real queue. That lets a departure go when its turn begins; in the model it arrives when its turn ends, one frame's time later. And after a pause the
real queue lets one frame go at once that would have to wait. So a real queue's ages are up to two frames' times lower: 120 ms in the last row.

| case | objective | bound, ms | verdict | decided in, ms | the run shown, ms | through a real queue, ms |
|---|---|---|---|---|---|---|
{admitted}"""


def judged(wanted, is_reached):
    return f"{wanted}: {'reached' if is_reached else 'missed'}"


def takeaway(result):
    leaf = result["networks"]["leaf-spine"]
    to = {name: spread([ours / theirs for ours, theirs in zip(leaf["goat"]["traffic"], leaf[name]["traffic"])]) for name in ("esa", "atp")}
    own = spread([100 * part - 100 for part in result["trees"]["leaf-spine"]])
    fat = result["networks"]["fat-tree"]
    summed = [spread(fat[name]["in_network"]) for name in ("goat", "goat-max")]
    large_plan = result["large"]
    slowest = 1e3 * max(case["seconds"] for case in list(result["admission"].values())[:2])
    return [("traffic of GOAT's plan, ESA's and ATP's = 1", "0.69, 0.66", f"{text(to['esa'], 2)}, {text(to['atp'], 2)}",
             verdict("at most 0.8", to.values(), lambda part: part <= 0.8)),
            ("traffic of own trees where every switch adds up, %", "−63.1", text(own, 0), verdict("at most −65", [own], lambda part: part <= -65)),
            ("GB added up in the fat-tree by GOAT's Eq. 1, by Eq. 4", "9.6", f"{text(summed[0], 1)}, {text(summed[1], 1)}",
             verdict("within 2 %", summed, lambda gb: abs(gb / 9.6 - 1) <= 0.02)),
            ("seconds for a plan of 101,306 workers", "–", f"{large_plan['seconds']:.1f}", judged("below 10", large_plan["seconds"] < 10)),
            ("MiB for it", "–", f"{large_plan['mib']:.0f}", judged("below 2,048", large_plan["mib"] < 2048)),
            ("ms to decide the paper's two admissions", "40,000", f"{slowest:.2f}", judged("below 100", slowest < 100))]
