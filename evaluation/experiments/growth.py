# SPDX-License-Identifier: BSD-2-Clause
"""What an update costs, and how old models become, as clusters, workers, lanes, Qmax and CPUs grow."""

from evaluation.growth_page import AGE_LOAD, CPU_FOLDS, FOLDS, claims, draw, page, takeaway  # noqa: F401
from evaluation.streams import in_turns, of, ratio

TITLE = "Growth"
SOURCE = "XAgg paper, section VI-B, figure 8"

CLUSTERS = [1, 9, 100, 1_000, 10_000, 100_000]
WORKERS = [1, 3, 16, 64, 256]
LANES = [2, 16, 32, 64, 128, 160, 384]
XAGG_LANES = [16, 32, 64, 128, 160, 384]
QUEUE = [1, 2, 8, 64, 1_000, 10_000]


def add(cases, axis, value, contender, **options):
    """One case for its cost and, where a queue's age is asked for, one for that."""
    cases.append(((axis, value, contender, options.pop("arm", "")), contender, options))


def cases(setting):
    quick = setting.quick
    found, seconds = [], {"seconds": 0.3 if quick else 0.5}
    for clusters in [9, 10_000, 100_000] if quick else CLUSTERS:
        for fold in FOLDS:
            for name in ("olaf", "xagg"):
                add(found, "clusters", clusters, name, arm=fold, fold=fold, clusters=clusters, queue=clusters, **seconds)
    for workers in [1, 256] if quick else WORKERS:
        add(found, "workers", workers, "olaf", workers=workers, queue=9, **seconds)
    for lanes in [16, 384] if quick else LANES:
        for name in ["olaf", "xagg"] if lanes in XAGG_LANES else ["olaf"]:
            add(found, "lanes", lanes, name, lanes=lanes, queue=9, **seconds)
    for places in [1, 10_000] if quick else QUEUE:
        add(found, "queue", places, "olaf", queue=places, clusters=10_000, **seconds)
    for cpus in (1, 2):
        for fold in [3] if quick else CPU_FOLDS:
            add(found, "cpus", cpus, "drop", arm=f"1 of {fold}", cpus=cpus, clusters=18, **seconds)
            for name in ("olaf", "xagg"):
                add(found, "cpus", cpus, name, arm=f"1 of {fold}", cpus=cpus, clusters=18, queue=18, fold=fold, **seconds)
            add(found, "cpus", cpus, "olaf", arm=f"1 of {fold}, same clusters", cpus=cpus, clusters=18, queue=18, fold=fold,
                common=True, **seconds)
    return found


def age_cases(setting):
    """Stamped and paced, so not for cost. Each cluster leaves several times while it is measured."""
    found = []
    for clusters in [9, 1_000] if setting.quick else CLUSTERS:
        seconds = max(0.4, 12 * clusters / AGE_LOAD)
        for name in ("olaf", "xagg"):
            add(found, "clusters", clusters, name, clusters=clusters, queue=clusters, seconds=seconds, stamped=True,
                load=AGE_LOAD)
    for places in [1, 10_000] if setting.quick else QUEUE:
        add(found, "queue", places, "olaf", clusters=1_000, queue=places, seconds=0.4, stamped=True, load=AGE_LOAD)
    for workers in [1, 256] if setting.quick else WORKERS:
        add(found, "workers", workers, "olaf", workers=workers, queue=9, seconds=0.4, stamped=True, load=AGE_LOAD)
    for lanes in [16, 384] if setting.quick else LANES:
        add(found, "lanes", lanes, "olaf", lanes=lanes, queue=9, seconds=0.4, stamped=True, load=AGE_LOAD)
    return found


def run(setting):
    turns = setting.repeats(1, 3)
    costs = in_turns(setting, cases(setting), turns)
    ages = in_turns(setting, age_cases(setting), turns)
    return {"effort": f"{turns} turns of all cases",
            "costs": [cost_row(costs, case) for case in costs], "ages": [age_row(ages, case) for case in ages]}


def cost_row(found, case):
    axis, value, name, arm = case
    for one in found[case]:
        one["dropped_percent"] = 100 * one["dropped_per_s"] / one["taken_per_s"]
    row = {"axis": axis, "value": value, "contender": name, "arm": arm, "ns": of(found[case], "ns_per_update"),
           "updates_per_s": of(found[case], "taken_per_s"), "dropped_percent": of(found[case], "dropped_percent")}
    xagg, alone = found.get((axis, value, "xagg", arm.split(",")[0] if arm and axis == "cpus" else arm)), found.get((axis, 1, name, arm))
    row["rate_to_xagg"] = ratio(found[case], xagg, "taken_per_s") if xagg else None
    row["rate_to_one"] = ratio(found[case], alone, "taken_per_s") if axis == "cpus" else None
    return row


def age_row(found, case):
    axis, value, name, arm = case
    runs = found[case]
    # Between two updates of one cluster on their way in: what an age is made of.
    interval_us = 1e6 * runs[0]["clusters"] / AGE_LOAD
    for one in runs:
        one["intervals"] = one["age_us"]["mean"] / interval_us
        for which in ("peak", "freshest", "oldest"):
            one[f"{which}_intervals"] = one["age_us"][which] / interval_us
    told = ("intervals", "peak_intervals", "freshest_intervals", "oldest_intervals")
    return {"axis": axis, "value": value, "contender": name, "mean_us": of(runs, "age_us", "mean"),
            **{key: of(runs, key) for key in told}}
