# SPDX-License-Identifier: BSD-2-Clause
"""Transmission control and a narrow link ahead of the bottleneck: ten clusters of ten workers behind three
switches. Several networks are measured at a time: what passes them takes a small part of a CPU."""

from evaluation.many_workers import measure
from evaluation.pictures import bars, figure, legend, line, logarithmic, save
from evaluation.processes import together
from evaluation.spread import runs_of, spread, text

TITLE = "Three switches, equal and unequal workers"
SOURCE = "OLAF paper, section 8.3, figures 9 and 10, tables 2 and 3"
SHORT = "Three switches"

RATE_BPS = 200_000  # 25 updates/s: the paper gives no rate, its ages ask for about this one
UPDATE_BITS = 8 * 1010
PLACES = {1: 5, 2: 5, 3: 8}
OFFERED = 1000  # updates/s of equal workers
# At which a FIFO of equal workers loses table 2's 88 %; switches 1 and 2 ten times as fast, so that
# switch 3 is the bottleneck.
LOSS_BPS = round((1 - 0.88) * OFFERED * UPDATE_BITS)
ARMS = {"loss": ["fifo", "olaf"], "table2": ["fifo", "olaf", "urgent"],
        "table3": ["fifo", "olaf", "urgent", "fair", "pause"],
        "one": ["fifo", "olaf", "urgent", "pause"], "ratio": ["fifo", "olaf", "urgent"]}
RATIOS = [0.1, 0.25, 0.5, 0.75, 1.0]
TABLE2 = {"fifo": (88, 1714, 1710, 0.88), "olaf": (4.5, 245, 244, 0.98)}
PAPER = {"loss": TABLE2, "table2": {**TABLE2, "urgent": TABLE2["olaf"]},
         "table3": {"fifo": (86, 1381, 5382, 0.86), "olaf": (5.6, 243, 291, 0.91), "urgent": (4.7, 263, 270, 0.99)}}
FIGURES = ["lost_percent", "held_percent", "fast_ms", "slow_ms", "average_ms", "fairness"]
AT_A_TIME = 8


def case(setting, kind, alpha=1.0):
    several = kind != "one"
    rates = {number: f"{RATE_BPS}bit" for number in PLACES}
    rates[1] = f"{round(RATE_BPS * alpha)}bit"
    if kind == "loss":
        rates = {number: f"{LOSS_BPS * (1 if number == 3 else 10)}bit" for number in PLACES}
    return {"several_hops": several, "places": PLACES if several else {3: PLACES[3]}, "rates": rates, "fast_ms": 100,
            "slow_ms": 300 if kind in ("table3", "one") else 100, "threshold_s": 0.4, "pause_s": 0.3,
            "seconds": 6 if setting.quick else 25}


def jobs(setting):
    """What is to be measured: kind, alpha, arm, turn."""
    kinds = ["table2", "loss", "table3"] if setting.quick else ["table2", "loss", "table3", "one"]
    ratios = [0.1, 1.0] if setting.quick else RATIOS
    turns = range(setting.repeats(1, 3))
    found = [(kind, 1.0, arm, turn) for turn in turns for kind in kinds for arm in ARMS[kind]]
    return found + [("ratio", alpha, arm, turn) for turn in turns for alpha in ratios for arm in ARMS["ratio"]]


def run(setting):
    found = together(setting, AT_A_TIME, [((kind, alpha, arm), measure, setting, arm, case(setting, kind, alpha), 1 + turn)
                                          for kind, alpha, arm, turn in jobs(setting)], lambda key: f"{key[0]}, {key[2]}")
    seconds = case(setting, "table2")["seconds"]
    return {"effort": f"{setting.repeats(1, 3)} of each case, {seconds} s long, {AT_A_TIME} at a time", "rows": [
        {"kind": kind, "alpha": alpha, "arm": arm, **{key: spread([run[key] for run in runs]) for key in FIGURES},
         "unaccounted": sum(run["unaccounted"] for run in runs)} for (kind, alpha, arm), runs in sorted(found.items())]}


def rows(result, kind):
    order = {arm: place for place, arm in enumerate(ARMS[kind])}
    return sorted((row for row in result["rows"] if row["kind"] == kind), key=lambda row: order[row["arm"]])


def draw(result, directory):
    drawing, axes = figure(3, width=15, title="Average Age-of-Model behind three switches; bars: quartiles")
    for axis, group, title in ((axes[0], "fast_ms", "clusters behind switch 1, whose output narrows"),
                               (axes[1], "slow_ms", "clusters behind switch 2")):
        for arm in ARMS["ratio"]:
            of = sorted((row for row in rows(result, "ratio") if row["arm"] == arm), key=lambda row: row["alpha"])
            line(axis, [row["alpha"] for row in of], [row[group] for row in of], arm)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("rate of switch 1 / rate of switch 2")
        axis.set_ylabel("average age, ms")
    of = rows(result, "table3")
    bars(axes[2], ["every 100 ms", "every 300 ms"], {row["arm"]: [row["fast_ms"], row["slow_ms"]] for row in of},
         "average age, ms")
    axes[2].set_xlabel("a worker's updates")
    for axis in axes:
        logarithmic(axis, "y")
        axis.set_ylim(bottom=100)
    legend(axes)
    axes[2].set_title("unequal workers (table 3)", fontsize=10)
    return [save(drawing, directory, "multihop")]


def table(result, kind):
    paper = PAPER.get(kind, {})
    lines = ["| | lost % | held back by the workers % | age of the fast, ms | of the slow, ms | fairness | the paper: lost, ages, fairness |",
             "|---|---|---|---|---|---|---|"]
    for row in rows(result, kind):
        theirs = paper.get(row["arm"])
        said = f"{theirs[0]} %, {theirs[1]}, {theirs[2]}, {theirs[3]}" if theirs else "–"
        lines.append(f"| {row['arm']} | {text(row['lost_percent'])} | {text(row['held_percent'])} | "
                     f"{text(row['fast_ms'], 0)} | {text(row['slow_ms'], 0)} | {text(row['fairness'], 3)} | {said} |")
    return "\n".join(lines)


def ratio_table(result):
    """Figure 10: both groups' ages by the rate of switch 1."""
    of = {(row["alpha"], row["arm"]): row for row in rows(result, "ratio")}
    arms = ARMS["ratio"]
    lines = ["| rate of switch 1 / of switch 2 | " + " | ".join(f"{arm}: behind 1, behind 2, ms" for arm in arms) + " |",
             "|---" * (1 + len(arms)) + "|"]
    for alpha in sorted({alpha for alpha, _ in of}):
        cells = [f"{text(of[alpha, arm]['fast_ms'], 0)}, {text(of[alpha, arm]['slow_ms'], 0)}" for arm in arms]
        lines.append(f"| {alpha:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def why_so_old(result):
    """Where a FIFO's ages come from: what waiting can make of them, and what it can't."""
    wait_ms = (PLACES[1] + PLACES[3]) * UPDATE_BITS / RATE_BPS * 1e3
    service_ms = UPDATE_BITS / LOSS_BPS * 1e3
    said = f"""**Why a FIFO is so much older than the paper's.** It isn't waiting: an update waits for {PLACES[1] + PLACES[3]} others at most, which take {wait_ms:.0f} ms at this rate. Switches 1
and 2 let out at switch 3's own rate, so in step with it: the group whose updates come right behind a departure there finds a place each time, the
other group never does, and a cluster that is never heard has half of the run's time as its average age, whatever the queue.

The paper's figures don't fit one rate. A loss of 88 % of {OFFERED:,} updates/s leaves {LOSS_BPS / UPDATE_BITS:.0f} a second, {service_ms:.1f} ms each: there a full FIFO of {PLACES[3]} is {PLACES[3] * service_ms:.0f} ms of
waiting, and an average age of 1,714 ms is starvation, too. Olaf's 245 ms ask for about {RATE_BPS / UPDATE_BITS:.0f} updates/s, where a FIFO can't lose less than {100 * (1 - RATE_BPS / UPDATE_BITS / OFFERED):.1f} %; and
86 % of table 3's 667 updates/s is a third rate."""
    if not rows(result, "loss"):
        return said
    return f"""{said} So the other tables have the rate of Olaf's ages, and this one that of the FIFO's loss, with
equal workers, and with switches 1 and 2 ten times as fast as switch 3, so that neither group is in step with it:

{table(result, "loss")}"""


def page(result):
    lost = sum(abs(row["unaccounted"]) for row in result["rows"])
    books = ("Every update is accounted for in the queues' books." if lost == 0 else
             f"{lost} updates are missing in the queues' books: the machine dropped them elsewhere.")
    parts = [f"""10 clusters of 10 workers, an update of 1,010 bytes every 100 ms (or every 300 ms in the second group), give or take
10 %. Switches of 5, 5 and 8 places, {RATE_BPS / 1000:g} kbit/s each, so 25 updates/s. The paper's rates aren't given; these are the ones at which
Olaf's ages come near to its. *urgent* is the paper's transmission control (threshold 0.4 s), *fair* and *pause* are our variants.
What a worker doesn't send because of it is *held back*. Fairness is Jain's index of the clusters' averages, (Σx)² / (n Σx²): 1 where all are equal, 1 / n where one
has all. {books} Each figure is of {runs_of([row["fast_ms"] for row in result["rows"]])}.

![Ages by the rate of switch 1, and of unequal workers](evaluation-multihop.png)

The first switch narrower than the second, all workers equal (figure 10; the paper's FIFO exceeds 2,900 ms behind the narrowest, and its Olaf narrows the gap):

{ratio_table(result)}

Equal workers, all every 100 ms (table 2):

{table(result, "table2")}

{why_so_old(result)}

Unequal workers (table 3):

{table(result, "table3")}"""]
    if rows(result, "one"):
        parts.append(f"The same unequal workers at one switch of 8 places:\n\n{table(result, 'one')}")
    parts.append("""The paper's fairness of 0.91 without control doesn't fit the averages that it gives (243 and 291 ms have an index of 0.992), so its index
isn't that of the clusters' averages. What control can and can't do here is in [benchmarks.md](benchmarks.md#asymmetric-senders).""")
    return "\n\n".join(parts)


def claims(result):
    found = {(row["kind"], row["arm"]): row for row in result["rows"] if row["alpha"] == 1.0}
    fifo, olaf = found["table3", "fifo"], found["table3", "olaf"]
    return [f"**So it is behind three switches.** FIFOs lose {text(fifo['lost_percent'])} % and Olaf {text(olaf['lost_percent'])} %, and slow workers' models are hardly older "
            f"than fast ones': {text(olaf['slow_ms'], 0)} and {text(olaf['fast_ms'], 0)} ms (the paper: 86 and 5.6 %; 291 and 243 ms)."]


def takeaway(result):
    found = {(row["kind"], row["arm"]): row for row in result["rows"] if row["alpha"] == 1.0}
    fifo, olaf = found["table3", "fifo"], found["table3", "olaf"]
    told = []
    if ("loss", "fifo") in found:
        at_loss = [found["loss", arm] for arm in ARMS["loss"]]
        told = [("equal workers at the rate of the paper's FIFO loss: lost by fifo, by Olaf; average ages",
                 "88 %, 4.5 %; 1712 and 245 ms",
                 ", ".join(f"{text(row['lost_percent'])} %" for row in at_loss) + "; " +
                 " and ".join(text(row["average_ms"], 0) for row in at_loss) + " ms")]
    return [*told, ("unequal workers behind three switches, lost: fifo, Olaf", "86 %, 5.6 %",
             f"{text(fifo['lost_percent'])} %, {text(olaf['lost_percent'])} %"),
            ("average ages of fast and slow clusters with Olaf", "243 and 291 ms",
             f"{text(olaf['fast_ms'], 0)} and {text(olaf['slow_ms'], 0)} ms")]
