# SPDX-License-Identifier: BSD-2-Clause
"""The microbenchmark as fast as this machine carries it: the kernel's generator in front of a queue that has a core for itself."""

from evaluation.playing import FRAME_BITS, LANES
from evaluation.streams import stream

ORDERS = ["in turns", "at random"]
ATTEMPTS = 6
# Of the time the queue's CPU runs: with less, a pause fell into the run, for more comes than it takes.
BUSY = 0.95
WITHIN = 0.03  # how exactly the queue's rate is set to the wanted part of what comes


def fast_case(setting, order, part, policy, places):
    """One run: a row of figures as playing.summary() has them. part: of what comes that is to
    leave. Begun anew while the kernel took its CPU away: whether a run counts depends on that
    alone, never on what came of it."""
    for again in range(ATTEMPTS):
        run = one_run(setting, order, part, policy, places)
        if run["busy"] >= BUSY:
            break
    return {**summary(run), "again": again}


def one_run(setting, order, part, policy, places):
    run = stream(setting, policy, lanes=LANES, queue=places, fold=1 / part, within=WITHIN, seconds=0.1 if setting.quick else 0.3,
                 apart=True, stamped=True, shuffled=order != "in turns")
    require_ratio(run, policy, part)
    return run


def require_ratio(run, policy, part):
    """RuntimeError unless the output was `part` of what the queue took: a run at another ratio is
    no figure of this one. A FIFO folds nothing, so it has dropped all that it didn't let out."""
    sent = run["sent_per_s"] / run["taken_per_s"]
    kept = 1 - run["dropped_per_s"] / run["taken_per_s"]
    if abs(sent - part) > WITHIN * part:
        raise RuntimeError(f"{policy} let out {100 * sent:.1f} % of the updates, and the output was "
                           f"to be {100 * part:.1f} % of the input: that is a figure of the "
                           "generator, not of the queue")
    if policy == "fifo" and abs(kept - sent) > WITHIN * part:
        raise RuntimeError(f"fifo kept {100 * kept:.1f} % of the updates and let out "
                           f"{100 * sent:.1f} %, and it folds none: the rest is missing")


def summary(run):
    """Percentages are of the updates that the queue took. The program gives no figure unless its books hold all of them."""
    taken, clusters = run["taken_per_s"], run["age_us"]["clusters"]
    messages = sum(run["folds"].values())
    updates = sum(int(count) * frames for count, frames in run["folds"].items())

    def mean(name):
        return sum(cluster[name] for cluster in clusters) / max(1, len(clusters)) / 1e3

    return {
        "received_percent": 100 * run["sent_per_s"] / taken,
        "folded_percent": 100 * run["sent_per_s"] / taken * (updates / max(1, messages) - 1),
        "superseded_percent": 100 * run["superseded_per_s"] / taken,
        "lost_percent": 100 * (run["dropped_per_s"] - run["superseded_per_s"]) / taken,
        "before_percent": 100 * run["loss"],
        "behind_percent": 100 * run["lost_behind"],
        "heard": sum(cluster["arrivals"] > 0 for cluster in clusters),
        "average_ms": mean("mean"),
        "mean_peak_ms": mean("peak"),
        "worst_average_ms": max((cluster["mean"] for cluster in clusters), default=0) / 1e3,
        "cluster_averages_ms": {cluster["cluster"]: cluster["mean"] / 1e3 for cluster in clusters},
        "cluster_peaks_ms": {cluster["cluster"]: cluster["peak"] / 1e3 for cluster in clusters},
        "folds": {int(count): frames for count, frames in run["folds"].items()},
        "input_bps": taken * FRAME_BITS,
        "busy_percent": 100 * run["busy"],
    }
