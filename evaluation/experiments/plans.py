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
from evaluation.playing import LANES, frame_bits, play, summary, write_trace
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
        setting.program("libexec/olaf/olaf-plan")

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
    """{strategy: {sigma: traffic}} of the leaf-spine."""
    words, workers = NETWORKS["leaf-spine"]
    document = planner.json(words + SOME, "--workers", workers, "--seed", seed, "--topology")
    return {how: {sigma: shared(document, "ps", how, MODEL, MEMORY, FRAGMENTS, MEAN, sigma, seed)["traffic"] for sigma in SIGMAS}
            for how in ("esa", "atp")}


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
    found = {"verdict": told["verdict"], "objective": objective, "bound_ms": told["bound_ns"] / 1e6, "seconds": told["seconds"],
             "service_ms": frame_bits(LANES) / bps * 1e3}
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
    found["sigma"] = {how: {f"{sigma:g}": [world[how][sigma] / 1e9 for world in apart] for sigma in SIGMAS} for how in ("esa", "atp")}
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
    admitted = "\n".join(f"| {name} | `{row['objective']}` | {row['bound_ms']:.1f} | {row['verdict']} | {1e3 * row['seconds']:.1f} | "
                         + (f"{row['shown_ms']:.1f} | {row['replayed_ms']:.1f} |" if "shown_ms" in row else "– | – |") for name, row in result["admission"].items())
    return f"""Computed by `olaf plan` ([fleet.md](fleet.md)), on no wire. GOAT's setting: a model of 240 MB in 120 pieces, a fifth of the
switches aggregate and have 64 MB each, rates of N(0.5, 0.2). The paper doesn't give the mean of the rates, nor the size of the model: 240 MB is 8.4 GB of 35
workers and 9.6 GB of 40, as its figures have them. ATP and ESA are a model of flows (evaluation/sharing.py).

![Volumes](evaluation-plans.png)

| what | | here | the paper |
|---|---|---|---|
{chr(10).join(lines)}

**What doesn't come out.** GOAT's 0.06 GB at the server: each piece must come there once, so 0.24 GB is the least; 60 MB is a quarter of that, as if its four
switches had one each. The 37.1 GB without aggregation: in a leaf-spine a gradient crosses four links at most, 33.6 GB of 35 workers. Eq. 4 is printed as
equal to Eq. 1, and isn't: it drops what the distance to the switch costs.

**Rates further apart (figure 16).** Traffic in GB, by the standard deviation of the workers' rates. GOAT's plan doesn't depend on rates.

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
real queue: it lets a departure go when its turn begins, where the model has it arrive when its turn ends, one frame's time later
(2 ms, and 60 ms in the last row).

| case | objective | bound, ms | verdict | decided in, ms | the run shown, ms | through a real queue, ms |
|---|---|---|---|---|---|---|
{admitted}"""


def takeaway(result):
    leaf = result["networks"]["leaf-spine"]
    to = {name: spread([ours / theirs for ours, theirs in zip(leaf["goat"]["traffic"], leaf[name]["traffic"])]) for name in ("esa", "atp")}
    own = spread([100 * part - 100 for part in result["trees"]["leaf-spine"]])
    return [("traffic of GOAT's plan, ESA's and ATP's = 1", "0.69, 0.66", f"{text(to['esa'], 2)}, {text(to['atp'], 2)}",
             verdict("at most 0.8", to.values(), lambda part: part <= 0.8)),
            ("traffic of own trees where every switch adds up, %", "−63.1", text(own, 0), verdict("at most −65", [own], lambda part: part <= -65)),
            ("seconds for a plan of 101,306 workers", "–", f"{result['large']['seconds']:.1f}", "below 10: " + ("reached" if result["large"]["seconds"] < 10 else "missed"))]
