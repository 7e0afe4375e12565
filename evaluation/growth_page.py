# SPDX-License-Identifier: BSD-2-Clause
"""Pictures and text of the experiment growth."""

from evaluation.growth_model import lines_of, predicted
from evaluation.pictures import bars, figure, legend, line, logarithmic, save
from evaluation.spread import runs_of, scaled, text, verdict

FOLDS = [3, 10]
CPU_FOLDS = [3, 10, 30]
AGE_LOAD = 1_000_000  # updates/s, where ages are measured
AXES = {"clusters": "clusters", "workers": "workers a cluster", "lanes": "lanes of an update", "queue": "Qmax, 10,000 clusters"}
# Of the opening table: end to end with XAgg's own figures (9 clusters, 256 values), and with many clusters.
TARGETS = {9: 1.3, 10_000: 0.9}


def rows(result, kind, axis, **wanted):
    return sorted((row for row in result[kind] if row["axis"] == axis and
                   all(row[key] == value for key, value in wanted.items())), key=lambda row: row["value"])


def draw(result, directory):
    return [draw_costs(result, directory), draw_ages(result, directory), draw_cpus(result, directory)]


def draw_costs(result, directory):
    drawing, axes = figure(4, width=19, title="Cost of an update from end to end, generator included; bars: quartiles")
    for axis, (name, label) in zip(axes, AXES.items()):
        for contender in ("olaf", "xagg"):
            for arm in FOLDS if name == "clusters" else [""]:
                found = rows(result, "costs", name, contender=contender, arm=arm)
                line(axis, [row["value"] for row in found], [row["ns"] for row in found], f"{contender}, 1 of {arm or 3} leaves")
        axis.set_xlabel(label)
        axis.set_ylabel("ns an update")
        logarithmic(axis, "x", sorted({row["value"] for row in rows(result, "costs", name)}) if name == "workers" else None)
        axis.set_ylim(bottom=0)
    legend(axes)
    return save(drawing, directory, "growth")


def draw_ages(result, directory):
    drawing, axes = figure(2, width=11.5, title="Average age of a model at the far end, 1 of 3 leaves; bars: quartiles")
    for axis, name in zip(axes, ("clusters", "queue")):
        for contender in ("olaf", "xagg"):
            found = rows(result, "ages", name, contender=contender)
            line(axis, [row["value"] for row in found], [row["intervals"] for row in found], contender)
        axis.set_xlabel("clusters" if name == "clusters" else "Qmax, 1,000 clusters")
        axis.set_ylabel("age, intervals of a cluster's updates")
        logarithmic(axis, "x")
        axis.set_ylim(bottom=0)
    legend(axes)
    return save(drawing, directory, "growth-ages")


CPU_BARS = {"drop": ("drop", ""), "olaf": ("olaf", ""), "olaf, same clusters": ("olaf", ", same clusters"), "xagg": ("xagg", "")}


def draw_cpus(result, directory):
    """What a second CPU brings, by how many leave."""
    drawing, axes = figure(2, width=12, title="Two CPUs that fold at once, 18 clusters; bars: quartiles")
    found = {(row["contender"], row["arm"]): row for row in rows(result, "costs", "cpus", value=2)}
    arms = [f"1 of {fold}" for fold in CPU_FOLDS if ("olaf", f"1 of {fold}") in found]
    for axis, key, label in ((axes[0], "rate_to_one", "updates/s of two CPUs / of one"), (axes[1], "ns", "ns of a CPU an update, two CPUs")):
        bars(axis, [f"{arm} leaves" for arm in arms],
             {name: [found.get((contender, arm + suffix), {}).get(key) for arm in arms] for name, (contender, suffix) in CPU_BARS.items()}, label)
    axes[0].axhline(2, color="#999999", linewidth=0.8)
    legend(axes)
    return save(drawing, directory, "growth-cpus")


AGES = ("intervals", "freshest_intervals", "oldest_intervals")


def table(result, axis, heading):
    lines = [f"| {heading} | | ns an update | updates/s, XAgg = 1 | dropped or superseded % | average age, intervals | of the freshest cluster | of the oldest |",
             "|---" * 8 + "|"]
    for row in rows(result, "costs", axis):
        ages = rows(result, "ages", axis, value=row["value"], contender=row["contender"]) if row["arm"] in ("", 3) else []
        told = " | ".join(text(ages[0].get(key), 2) if ages else "–" for key in AGES)
        arm = f", 1 of {row['arm']} leaves" if row["arm"] else ""
        lines.append(f"| {row['value']:,} | {row['contender']}{arm} | {text(row['ns'], 0)} | {text(row['rate_to_xagg'], 2)} | "
                     f"{text(row['dropped_percent'], 1)} | {told} |")
    return "\n".join(lines)


def cpu_table(result):
    lines = ["| leaves | | CPUs | ns of a CPU an update | two CPUs / one | updates/s, XAgg = 1 |", "|---|---|---|---|---|---|"]
    for row in sorted(rows(result, "costs", "cpus"), key=lambda row: (row["arm"], row["contender"])):
        lines.append(f"| {row['arm']} | {row['contender']} | {row['value']} | {text(row['ns'], 0)} | {text(row['rate_to_one'], 2)} | "
                     f"{text(row['rate_to_xagg'], 2)} |")
    return "\n".join(lines)


# XAgg's figure 8: Gbit/s of elements by cores, 256 values in an update.
PAPER_GBIT = {1: "13", 2: "linear, no figure", 10: "99.5 (the NIC's limit)"}


def paper_table(result):
    """Figure 8 in the paper and here, where each CPU generates what it takes."""
    lines = ["| CPUs | the paper's XAgg, Gbit/s | XAgg's program here | Olaf here |", "|---|---|---|---|"]
    for cpus, paper in PAPER_GBIT.items():
        wanted = {"value": cpus, "arm": f"1 of {CPU_FOLDS[0]}"}
        found = {row["contender"]: row for row in rows(result, "costs", "cpus", **wanted)}
        rates = [found.get(name, {}).get("updates_per_s") for name in ("xagg", "olaf")]
        ours = " | ".join(text(scaled(rate, 256 * 32 / 1e9), 1) for rate in rates)
        lines.append(f"| {cpus} | {paper} | {ours} |")
    return "\n".join(lines)


def page(result):
    return f"""Generator, contender and far end share each CPU, so the cost of an update is a CPU's whole time over the updates that it took;
*drop* is what the generator alone takes of it. *1 of 3 leaves*: of three updates that come two are folded into the third's message, and one
message leaves. So it is where nothing else is said, and the queue has a place for each cluster; *Qmax* is the number of places.
An update is *superseded* if a later one of its own worker takes its place. Each figure is of {runs_of([row["ns"] for row in result["costs"]])}.
Clusters come in an order that no prefetcher follows. XAgg has as many aggregates as the queue has clusters, and on two CPUs none in common. Ages
are measured apart, stamped, at {AGE_LOAD / 1e6:g} M updates/s. They are told in *intervals*, the time between two updates of one cluster: with 100,000 clusters that
is 100 ms. One of three leaving makes a model 1.5 intervals old by itself; the rest is waiting. A worker alone in its cluster supersedes its own
updates. No frame above 384 lanes is here, for a generated frame is one page; those of 1,100 are [below](#goodput-16-bits-an-element-or-32), sent by
sockets. The *freshest* and the *oldest* cluster are those with the least and the largest average age.

![Cost by clusters, workers, lanes and Qmax](evaluation-growth.png)

{table(result, "clusters", "clusters")}

{table(result, "workers", "workers a cluster")}

{table(result, "lanes", "lanes")}

{table(result, "queue", "Qmax, 10,000 clusters (ages: 1,000)")}

![Ages by clusters and Qmax](evaluation-growth-ages.png)

Two CPUs, each with a queue of the veth and 9 clusters of its own, or all 18 in common:

![Two CPUs](evaluation-growth-cpus.png)

{cpu_table(result)}

XAgg's figure 8, one of {CPU_FOLDS[0]} leaving. The paper's cores only aggregate; each CPU here makes its frames, too:

{paper_table(result)}

### The model, and 100 Gbit/s

{lines_of(result, predicted(result))}"""


def claims(result):
    found = {(row["axis"], row["value"], row["contender"], row["arm"]): row for row in result["costs"]}
    most, fold = max(TARGETS), CPU_FOLDS[0]
    olaf, xagg = (found.get(("cpus", 2, name, f"1 of {fold}")) for name in ("olaf", "xagg"))
    if not olaf or not xagg:
        return []
    return [f"**Olaf loses with very many clusters, and gains less by a second CPU.** With {most:,} clusters one core takes "
            f"{text(found['clusters', most, 'olaf', FOLDS[0]]['rate_to_xagg'], 2)} of XAgg's updates; two CPUs take {text(olaf['rate_to_one'], 2)} times as many as one where one of {fold} "
            f"leaves, XAgg's {text(xagg['rate_to_one'], 2)} (the paper: linear)."]


def takeaway(result):
    found = {(row["axis"], row["value"], row["contender"], row["arm"]): row for row in result["costs"]}
    told = []
    for clusters, least in TARGETS.items():
        ratios = [found["clusters", clusters, "olaf", fold]["rate_to_xagg"] for fold in FOLDS]
        told.append((f"end to end on one core, which generates and receives, too: updates/s with {clusters:,} clusters of 256 values, XAgg = 1: 1 of 3 leaves, 1 of 10",
                     "–", listed(ratios), verdict(f"≥ {least}", ratios, lambda ratio, least=least: ratio >= least)))
    for fold in CPU_FOLDS:
        olaf, xagg = (found.get(("cpus", 2, name, f"1 of {fold}")) for name in ("olaf", "xagg"))
        if olaf and xagg:
            pair = [olaf["rate_to_one"], xagg["rate_to_one"]]
            told.append((f"updates/s of two CPUs / of one, 1 of {fold} leaves: Olaf, XAgg", "XAgg: linear to ten", listed(pair),
                         verdict("≥ XAgg's", pair[:1], lambda ours, theirs=pair[1]["median"]: ours >= theirs)))
    return told


def listed(figures):
    return ", ".join(text(each, 2) for each in figures)
