# SPDX-License-Identifier: BSD-2-Clause
"""What a queue of 8 does to 27 workers in 9 clusters: in the paper's ratios of input to output, slowed down so that
times are exact, and as fast as this machine carries it. The paper doesn't say in which order its workers send, and
losses and ages depend on little else: so in three orders."""

import random

from evaluation.microbenchmark_fast import ORDERS as FAST_ORDERS
from evaluation.microbenchmark_fast import fast_case
from evaluation.microbenchmark_page import claims, draw, page, takeaway  # noqa: F401
from evaluation.playing import FRAME_BITS, play, summary, write_trace
from evaluation.spread import spread
from evaluation.topology import Line

TITLE = "Microbenchmark: 27 workers, 9 clusters, a queue of 8"
SOURCE = "OLAF paper, section 8.1, table 1 and figure 6"
SHORT = "Microbenchmark"

CLUSTERS, WORKERS, EACH, QUEUE = 9, 3, 500, 8
INPUT = 60
OUTPUTS = [40, 20, 5]
STEP_US = 100  # an update in this time on average: 27.7 Mbit/s
BURST, LINE_RATE = 160, 100  # updates at 100 : 60 of the mean rate, then a pause
CONTENDERS = {"fifo": ("fifo", QUEUE), "olaf": ("olaf", QUEUE), "olaf, auto": ("olaf", "auto")}
LATE_US = 20_000  # a sender this late on average was held up: its run says nothing of the queue
ATTEMPTS = 3
FAST_RUNS = 6
FIGURES = ["received_percent", "folded_percent", "superseded_percent", "lost_percent", "before_percent", "behind_percent", "heard",
           "average_ms", "mean_peak_ms", "highest_peak_ms", "worst_average_ms", "late_mean_us", "busy_percent"]


def moments(order, seed, each):
    """A trace: [(time_us, cluster, worker)]."""
    rng, count = random.Random(f"{order} {seed}"), CLUSTERS * WORKERS * each
    everyone = [(turn % CLUSTERS, turn // CLUSTERS) for turn in range(CLUSTERS * WORKERS)]
    senders = everyone * each
    if order != "in turns":
        rng.shuffle(senders)
    at = [STEP_US * turn for turn in range(count)]
    if order == "in bursts":
        at = [STEP_US * (turn - turn % BURST + turn % BURST * INPUT / LINE_RATE) for turn in range(count)]
    return [(time, cluster, worker) for time, (cluster, worker) in zip(at, senders)]


def attach(network, contender, bps):
    policy, places = CONTENDERS[contender]
    network.attach_at("switch", f"{round(bps)}bit", places, "--policy", policy, "--max-clusters", "16",
                      "--drain-interval", "10us")


def turns_of(setting, order):
    """Thirty as the paper's for the order that needs them most, fewer for the others."""
    return setting.repeats(2, 30 if order == "in turns" else 8)


def undisturbed(setting, network, trace):
    """A run whose sender wasn't held up, or the last of some attempts; with how often it was begun anew. Whether a run
    counts depends on the sender alone, never on what came of it."""
    for again in range(ATTEMPTS):
        found = summary(play(setting, network, trace, clusters=CLUSTERS))
        if found["late_mean_us"] < LATE_US:
            break
    return {**found, "again": again}


def slow_case(setting, network, order, output, contender, traces):
    """Runs of one case, one after another through one queue."""
    attach(network, contender, FRAME_BITS / STEP_US * 1e6 * output / INPUT)
    found = [undisturbed(setting, network, trace) for trace in traces]
    network.detach()
    return {"speed": "slow", "order": order, "output": output, "contender": contender, "runs": found}


def fast_cases(setting, outputs):
    """Every turn has all cases, so that what disturbs the machine for a while disturbs all of them."""
    turns, found = setting.repeats(1, FAST_RUNS), {}
    for turn in range(turns):
        for order in FAST_ORDERS[:1] if setting.quick else FAST_ORDERS:
            for output in outputs:
                for contender, (policy, places) in CONTENDERS.items():
                    setting.progress(f"as fast as can be, {turn + 1} of {turns}, {order}, {INPUT} : {output}, {contender}")
                    found.setdefault((order, output, contender), []).append(
                        fast_case(setting, order, output / INPUT, policy, CLUSTERS if places == "auto" else places))
    return [{"speed": "fast", "order": order, "output": output, "contender": contender, "runs": runs}
            for (order, output, contender), runs in found.items()]


def run(setting):
    each = 20 if setting.brief else 100 if setting.quick else EACH
    orders = ["in turns", "in bursts"] if setting.quick else ["in turns", "at random", "in bursts"]
    outputs = OUTPUTS[:2] if setting.quick else OUTPUTS
    if setting.brief:
        orders, outputs = orders[:1], outputs[1:]
    cases = []
    with Line(setting.program("loader/olaf")) as network:
        for order in orders:
            traces = [write_trace(setting.directory / f"microbenchmark-{turn}.trace", moments(order, turn, each))
                      for turn in range(turns_of(setting, order))]
            for output in outputs:
                for contender in CONTENDERS:
                    setting.progress(f"{order}, {INPUT} : {output}, {contender}, {len(traces)} runs")
                    cases.append(slow_case(setting, network, order, output, contender, traces))
            for trace in traces:
                trace.unlink()
    if not setting.brief:
        cases += fast_cases(setting, outputs[1:] if setting.quick else outputs)
    return {"effort": f"{turns_of(setting, 'in turns')} runs in turns, {turns_of(setting, 'in bursts')} of the other orders, "
                      f"{CLUSTERS * WORKERS * each} updates each; {setting.repeats(1, FAST_RUNS)} as fast as can be", "rows": [condensed(case, cases) for case in cases]}


def condensed(case, cases):
    """A case's runs as spreads, with the reduction of age against FIFO's run of the same number."""
    runs = case["runs"]
    fifo = next(each for each in cases if each["contender"] == "fifo" and all(
        each[key] == case[key] for key in ("speed", "order", "output")))["runs"]
    row = {key: case[key] for key in ("speed", "order", "output", "contender")}
    row |= {key: spread([run.get(key) for run in runs]) for key in FIGURES}
    for key in ("average_ms", "mean_peak_ms"):
        row[f"less_{key}"] = spread([100 * (1 - ours[key] / theirs[key]) for ours, theirs in zip(runs, fifo) if theirs[key]])
    for key in ("cluster_averages_ms", "cluster_peaks_ms"):
        row[key] = {cluster: spread([run[key].get(cluster) for run in runs]) for cluster in range(CLUSTERS)}
    row["folds"] = {}
    for run in runs:
        for updates, messages in run["folds"].items():
            row["folds"][updates] = row["folds"].get(updates, 0) + messages
    row["fold_shares"] = [[most, spread([share(run["folds"], most) for run in runs])] for most in range(1, 1 + max(row["folds"], default=0))]
    row["again"] = sum(run.get("again", 0) for run in runs)
    row["unaccounted"] = sum(run.get("unaccounted", 0) for run in runs)
    row["input_gbps"] = spread([run["input_bps"] / 1e9 for run in runs if "input_bps" in run])
    return row


def share(folds, most):
    """Of one run's messages those with at most so many updates, in percent."""
    total = sum(folds.values())
    return 100 * sum(messages for updates, messages in folds.items() if updates <= most) / total if total else None
