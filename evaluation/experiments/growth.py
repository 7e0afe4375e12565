# SPDX-License-Identifier: BSD-2-Clause
"""What an update costs, and how old models become, as clusters, workers, lanes, Qmax and CPUs grow."""

from evaluation.growth_model import lines_of, predicted
from evaluation.pictures import COLOURS, figure, line, save
from evaluation.spread import text
from evaluation.streams import in_turns, of, ratio

TITLE = "Growth"
SOURCE = "XAgg paper, section VI-B, figure 8"

CLUSTERS = [1, 9, 100, 1_000, 10_000, 100_000]
WORKERS = [1, 3, 16, 64, 256]
LANES = [2, 16, 32, 64, 128, 160, 384]
XAGG_LANES = [16, 32, 64, 128, 160, 384]
QUEUE = [1, 2, 8, 64, 1_000, 10_000]
FOLDS = [3, 10]
CPU_FOLDS = [3, 10, 30]
# Beside the colours that olaf and xagg have everywhere.
COLOURS.update({"olaf, 1 of 10 leaves": "#56B4E9", "xagg, 1 of 10 leaves": "#66D9B8"})
AGE_LOAD = 1_000_000  # updates/s, where ages are measured


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
        one["peak_intervals"] = one["age_us"]["peak"] / interval_us
    return {"axis": axis, "value": value, "contender": name, "mean_us": of(runs, "age_us", "mean"),
            "intervals": of(runs, "intervals"), "peak_intervals": of(runs, "peak_intervals")}


def rows(result, kind, axis, **wanted):
    return sorted((row for row in result[kind] if row["axis"] == axis and
                   all(row[key] == value for key, value in wanted.items())), key=lambda row: row["value"])


def draw(result, directory):
    drawing, axes = figure(4, width=17, title="Cost of an update from end to end, generator included; bars: quartiles")
    for axis, name in zip(axes, ("clusters", "workers", "lanes", "queue")):
        for contender in ("olaf", "xagg"):
            for arm in FOLDS if name == "clusters" else [""]:
                found = rows(result, "costs", name, contender=contender, arm=arm)
                line(axis, [row["value"] for row in found], [row["ns"] for row in found],
                     contender if arm in ("", 3) else f"{contender}, 1 of {arm} leaves")
        axis.set_xlabel({"lanes": "lanes of an update", "workers": "workers a cluster", "queue": "Qmax, 10,000 clusters"}.get(name, name))
        axis.set_ylabel("ns an update")
        axis.set_xscale("log")
        axis.set_ylim(bottom=0)
    axes[0].legend(frameon=False)
    aged, below = figure(2, width=11, title="Average age of a model at the far end; bars: quartiles")
    for axis, name in zip(below, ("clusters", "queue")):
        for contender in ("olaf", "xagg"):
            found = rows(result, "ages", name, contender=contender)
            line(axis, [row["value"] for row in found], [row["intervals"] for row in found], contender)
        axis.set_xlabel("clusters" if name == "clusters" else "Qmax, 1,000 clusters")
        axis.set_ylabel("age, intervals of a cluster's updates")
        axis.set_xscale("log")
        axis.set_ylim(bottom=0)
    below[0].legend(frameon=False)
    return [save(drawing, directory, "growth"), save(aged, directory, "growth-ages")]


def table(result, axis, heading):
    lines = [f"| {heading} | | ns an update | updates/s, XAgg = 1 | dropped or superseded % | average age, intervals |", "|---|---|---|---|---|---|"]
    for row in rows(result, "costs", axis):
        ages = rows(result, "ages", axis, value=row["value"], contender=row["contender"]) if row["arm"] in ("", 3) else []
        arm = f", 1 of {row['arm']} leaves" if row["arm"] else ""
        lines.append(f"| {row['value']:,} | {row['contender']}{arm} | {text(row['ns'], 0)} | {text(row['rate_to_xagg'], 2)} | "
                     f"{text(row['dropped_percent'], 1)} | {text(ages[0]['intervals'], 2) if ages else '–'} |")
    return "\n".join(lines)


def cpu_table(result):
    lines = ["| leaves | | CPUs | ns of a CPU an update | two CPUs / one | updates/s, XAgg = 1 |", "|---|---|---|---|---|---|"]
    for row in sorted(rows(result, "costs", "cpus"), key=lambda row: (row["arm"], row["contender"])):
        lines.append(f"| {row['arm']} | {row['contender']} | {row['value']} | {text(row['ns'], 0)} | {text(row['rate_to_one'], 2)} | "
                     f"{text(row['rate_to_xagg'], 2)} |")
    return "\n".join(lines)


def page(result):
    return f"""Generator, contender and far end share each CPU, so the cost of an update is a CPU's whole time over the updates that it took;
`drop` is what the generator alone takes of it. One of three updates leaves where nothing else is said, and the queue has a place for each cluster.
Clusters come in an order that no prefetcher follows. XAgg has as many aggregates as the queue has clusters, and on two CPUs none in common. Ages
are measured apart, stamped, at {AGE_LOAD / 1e6:g} M updates/s. They are told in intervals at which one cluster's updates come: with 100,000 clusters that
is 100 ms. One of three leaving makes a model 1.5 intervals old by itself; the rest is waiting. A worker alone in its cluster supersedes its own
updates. No frame above 384 lanes is here, for a generated frame is one page; `olaf_jumbo` in [benchmarks.md](benchmarks.md) folds 1,120.

![Cost by clusters, workers, lanes and Qmax](evaluation-growth.png)

{table(result, "clusters", "clusters")}

{table(result, "workers", "workers a cluster")}

{table(result, "lanes", "lanes")}

{table(result, "queue", "Qmax, 10,000 clusters (ages: 1,000)")}

![Ages by clusters and Qmax](evaluation-growth-ages.png)

Two CPUs, each with a queue of the veth and 9 clusters of its own, or all 18 in common:

{cpu_table(result)}

### The model, and 100 Gbit/s

{lines_of(result, predicted(result))}"""


def takeaway(result):
    found = {(row["axis"], row["value"], row["contender"], row["arm"]): row for row in result["costs"]}
    return [("updates/s with 10,000 clusters, XAgg's Algorithm 1 = 1: 1 of 3 leaves, 1 of 10", "–",
             ", ".join(text(found["clusters", 10_000, "olaf", fold]["rate_to_xagg"], 2) for fold in FOLDS)),
            ("two CPUs / one: Olaf, XAgg", "–, linear to ten",
             ", ".join(text(found["cpus", 2, name, "1 of 3"]["rate_to_one"], 2) for name in ("olaf", "xagg")))]
