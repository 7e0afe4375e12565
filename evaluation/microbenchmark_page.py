# SPDX-License-Identifier: BSD-2-Clause
"""Pictures and text of the experiment microbenchmark."""

from evaluation.microbenchmark_fast import BUSY
from evaluation.pictures import band, bars, colour, figure, legend, logarithmic, save
from evaluation.spread import runs_of, scaled, text

# Table 1 and section 8.1, as "received, folded, lost" of 13,500 updates; there is no table for 60 : 5.
PAPER = {(40, "fifo"): "45 %, –, 55.8 %", (40, "olaf"): "36 %, 53 %, 11 %; age −69 %",
         (20, "fifo"): "26 %, –, 74.3 %", (20, "olaf"): "19 %, 69 %, 11.5 %; age −78 %"}
LABELS = {"in turns": "in turns", "at random": "at random", "in bursts": "at random, in bursts"}
ORDERS = {"in turns": "In turns", "at random": "At random", "in bursts": "At random, in bursts at 100 : 60 of the mean rate"}


def rows(result, speed, order):
    return [row for row in result["rows"] if row["speed"] == speed and row["order"] == order]


def draw(result, directory):
    return [ages(result, directory), clusters(result, directory), fold_counts(result, directory)]


def orders_of(result):
    return [order for order in ORDERS if rows(result, "slow", order)]


def ages(result, directory):
    orders = orders_of(result)
    drawing, axes = figure(len(orders), width=2.2 + 4.4 * len(orders),
                           title="Average Age-of-Model of 9 clusters, a queue of 8; bars: quartiles of the runs")
    for axis, order in zip(axes, orders):
        of = rows(result, "slow", order)
        outputs = sorted({row["output"] for row in of}, reverse=True)
        series = {}
        for row in of:
            series.setdefault(row["contender"], {})[row["output"]] = row["average_ms"]
        bars(axis, [f"60 : {output}" for output in outputs],
             {name: [found.get(output) for output in outputs] for name, found in series.items()}, "average age, ms")
        axis.set_title(f"workers send {LABELS[order]}", fontsize=10)
        axis.set_xlabel("input : output")
        logarithmic(axis, "y")
        axis.set_ylim(bottom=0.5)
    legend(axes)
    return save(drawing, directory, "microbenchmark")


def clusters(result, directory):
    """Each cluster's age where the output is a third of the input: who is starved."""
    orders = orders_of(result)
    drawing, axes = figure(len(orders), width=2.2 + 4.4 * len(orders), title="Average age by cluster, 60 : 20; bars: quartiles; lines: mean peaks")
    for axis, order in zip(axes, orders):
        found = {row["contender"]: row for row in rows(result, "slow", order) if row["output"] == 20}
        bars(axis, list(range(9)), {name: by_cluster(row, "cluster_averages_ms") for name, row in found.items()}, "age, ms")
        width = 0.8 / max(1, len(found))
        for place, row in enumerate(found.values()):
            at = [(cluster + (place - (len(found) - 1) / 2) * width, peak) for cluster, peak in enumerate(by_cluster(row, "cluster_peaks_ms")) if peak]
            axis.plot([x for x, _ in at], [peak["median"] for _, peak in at], linestyle="", marker="_", color="#000000", markersize=6)
        axis.set_title(f"workers send {LABELS[order]}", fontsize=10)
        axis.set_xlabel("cluster")
        logarithmic(axis, "y")
        axis.set_ylim(bottom=0.5)
    legend(axes)
    return save(drawing, directory, "microbenchmark-clusters")


def by_cluster(row, key):
    """Spreads of clusters 0 to 8. A result that has been read again has its keys as text."""
    found = {int(cluster): figure_ for cluster, figure_ in row.get(key, {}).items()}
    return [found.get(cluster) for cluster in range(9)]


def fold_counts(result, directory):
    """The paper's figure 6."""
    orders = orders_of(result)
    drawing, axes = figure(len(orders), width=2.2 + 4.4 * len(orders), title="Updates in a message that leaves: messages with at most so many; bands: quartiles")
    for axis, order in zip(axes, orders):
        styles = dict(zip((40, 20, 5), ("-", "--", ":")))
        for row in rows(result, "slow", order):
            if row["contender"] != "fifo":
                draw_shares(axis, row, styles[row["output"]])
        axis.set_title(f"workers send {LABELS[order]}", fontsize=10)
        axis.set_xlabel("updates in the message")
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.set_ylabel("% of messages")
        axis.set_ylim(0, 102)
    legend(axes)
    return save(drawing, directory, "microbenchmark-folds")


def draw_shares(axis, row, style):
    shares = [(most, figure_) for most, figure_ in row.get("fold_shares", []) if figure_]
    name = f"{row['contender']}, 60 : {row['output']}"
    xs = [most for most, _ in shares]
    low, median, high = ([figure_[key] for _, figure_ in shares] for key in ("low", "median", "high"))
    axis.step(xs, median, where="post", label=name, color=colour(name), linestyle=style)
    band(axis, xs, low, high, name)


def table(found):
    fast = bool(found) and found[0]["speed"] == "fast"
    unit, times = ("µs", 1e3) if fast else ("ms", 1)
    lines = [f"| input : output | | received % | folded % | lost % | clusters heard | average age, {unit} | mean peak, {unit} | average, against fifo, % | "
             f"mean peak, against fifo, % | {'taken, Gbit/s | ' if fast else ''}the paper: received, folded, lost |", "|---" * (11 + fast) + "|"]
    for row in found:
        less = ["", ""] if row["contender"] == "fifo" else [
            text(scaled(row[key], -1), 0) for key in ("less_average_ms", "less_mean_peak_ms")]
        rate = f"{text(row['input_gbps'], 1)} | " if fast else ""
        lines.append(
            f"| 60 : {row['output']} | {row['contender']} | {text(row['received_percent'])} | {text(row['folded_percent'])} | "
            f"{text(row['lost_percent'])} | {text(row['heard'], 0)} | {text(scaled(row['average_ms'], times), 2)} | "
            f"{text(scaled(row['mean_peak_ms'], times), 2)} | {less[0]} | {less[1]} | {rate}{PAPER.get((row['output'], row['contender']), '–')} |")
    return "\n".join(lines)


def cluster_table(result, speed):
    """Averages and mean peaks of each cluster at 60 : 20."""
    lines = ["| workers send | | age, ms | " + " | ".join(f"cluster {cluster}" for cluster in range(9)) + " |", "|---" * 12 + "|"]
    for order in ORDERS:
        for row in rows(result, speed, order):
            if row["output"] != 20:
                continue
            for key, name in (("cluster_averages_ms", "average"), ("cluster_peaks_ms", "mean peak")):
                cells = [text(figure_, 1) for figure_ in by_cluster(row, key)]
                lines.append(f"| {LABELS[order]} | {row['contender']} | {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def page(result):
    slow = [row for row in result["rows"] if row["speed"] == "slow"]
    missing = sum(abs(row["unaccounted"]) for row in slow)
    parts = [f"""27 workers in 9 clusters, updates of 2,048 bits (32 lanes), 8 places; *auto* has a place for every cluster. *Received* are the messages that reach
the server, *folded* the updates that came along in one of them, *lost* those that the queue dropped; a later update of a worker may also replace its
earlier one, so that the three don't always add up to 100 %. Slowed down to an
update every 100 µs, so that a departure takes 150 µs, 300 µs or 1.2 ms. Updates that the queue's books don't account for: {missing} of all runs. Updates were
sent {max(row['late_mean_us']['median'] for row in slow):.0f} µs late on average in the worst case; where that is more than some tens, other work kept the CPUs busy, and arrivals
came in small bursts. {sum(row['again'] for row in slow)} runs were begun anew since their sender was held up for more than 20 ms on average.
An age counts from when an update was sent, and each cluster's model as fresh when a run begins; so a cluster that is never heard grows
old from there on. The *mean peak* is of the ages just before a message arrives.

![Average ages](evaluation-microbenchmark.png)

![Updates in a message](evaluation-microbenchmark-folds.png)

{what_differs(result)}"""]
    for order, title in ORDERS.items():
        if found := rows(result, "slow", order):
            parts.append(f"**{title}** ({runs_of([row['average_ms'] for row in found])}):\n\n{table(found)}")
    parts.append(f"**By cluster**, 60 : 20:\n\n![Ages by cluster](evaluation-microbenchmark-clusters.png)\n\n{cluster_table(result, 'slow')}")
    return "\n\n".join(parts + fast_parts(result))


def fast_parts(result):
    fast = [row for row in result["rows"] if row["speed"] == "fast" and row.get("before_percent")]
    if not fast:
        return []
    before, behind = (max(row[key]["high"] for row in fast) for key in ("before_percent", "behind_percent"))
    parts = [f"""### As fast as this machine carries it

The same stream from a generator in the kernel, with queue and NAPI alone on one CPU and generator and far end on the other ({runs_of([row["average_ms"] for row in fast])}
of each case). The queue's rate is set in each run until the output is within 3 % of the wanted part of what comes, and a run that isn't in the end fails. Percentages are of what the queue took. The device drops
what comes faster than the queue takes it, before any queue: up to {before:.1f} % of what was sent. Every sum is exact and the queue's books hold every update, or there is no figure;
between the queue and the far end up to {behind:.2f} % were lost. Ages are of the time that is measured, 0.3 s. {pauses(fast)} In turns a FIFO
may not let a cluster in at all: the ages are those of the clusters that were heard since the run began."""]
    for order in ORDERS:
        if found := rows(result, "fast", order):
            parts.append(f"**{ORDERS[order]}:**\n\n{table(found)}")
    return parts


def pauses(fast):
    """What is to be said of pauses. A result of before such runs were begun anew has them."""
    why = ("the kernel takes a CPU from its real-time threads for 50 ms of each second, and 50 ms in "
           "300 are 50² / (2 · 300) = 4.2 ms of age on average, whatever the queue.")
    if min(row["busy_percent"]["low"] for row in fast) >= 100 * BUSY:
        again = sum(row["again"] for row in fast)
        return f"A run into which a pause fell was begun anew ({again} were): {why}"
    return (f"Where they are\nmilliseconds, a pause fell into it: {why} So compare mean peaks here, "
            "and averages above.")


def what_differs(result):
    lost = {row["output"]: text(row["lost_percent"]) for row in rows(result, "slow", "in bursts") if row["contender"] == "fifo"}
    bursts = f": they give a FIFO of 8 places {lost[40]} % and {lost[20]} %" if {40, 20} <= lost.keys() else ""
    return f"""**Where the paper's figures come from.** It doesn't say in which order its generator's workers send; its own losses tell some of it. A FIFO
that always has input loses 33 % at 40 of 60, and 67 % at 20 of 60. The paper's loses 55.8 % and 74.3 %, so its output was idle for a third and for a quarter of the
time: its updates come in bursts. Bursts of about 160 at the line's 100 Gbit/s, each with a pause behind it, are the third order here{bursts}.
The paper's Olaf loses 11 % and 11.5 %, whatever the rate. That is one cluster of nine, as if eight clusters had kept the eight places and the
ninth had none. Here a place that becomes free goes to whoever comes first.

Ages follow the order, too. With Olaf a cluster has its turn after the eight others, and what leaves then is as fresh as its newest fold. With a FIFO an update waits
behind eight others, and then its cluster goes without a place for a while. Where workers send in turns, as a generator in hardware does, a full FIFO has places
for the same few clusters again and again, and the others starve: its average age is a multiple of Olaf's, as in the paper. Which multiple
depends on how exactly they keep their turns, for every disturbance gives places to others. Where they send at random
nobody starves for long, and Olaf's lead is smaller. In bursts both ages hold the pause, which no queue can shorten. So one order comes near to the paper's ages and
another to its losses. The mean peak falls by less than the average, since the peak of a cluster that starves counts once, however long it lasts."""


def claims(result):
    found = {(row["order"], row["output"], row["contender"]): row for row in result["rows"] if row["speed"] == "slow"}
    fifo, olaf = (found.get(("in bursts", 20, name)) for name in ("fifo", "olaf"))
    if not fifo:
        return []
    return [f"**Folding keeps what a FIFO loses.** Where the output carries a third of what comes in bursts, a FIFO loses {text(fifo['lost_percent'])} % and Olaf "
            f"{text(olaf['lost_percent'])} % of the updates, and the average age falls by {text(olaf['less_average_ms'], 0)} % (the paper: 74.3 and 11.5 %; 78 %)."]


def takeaway(result):
    found = {(row["order"], row["output"], row["contender"]): row for row in result["rows"] if row["speed"] == "slow"}
    told = []
    for order in ORDERS:
        fifo, olaf = found.get((order, 20, "fifo")), found.get((order, 20, "olaf"))
        if fifo:
            told.append((f"60 : 20, {order}: lost by fifo, by Olaf; Olaf's average age against fifo's", "74.3 %, 11.5 %; −78 %",
                         f"{text(fifo['lost_percent'])} %, {text(olaf['lost_percent'])} %; {text(scaled(olaf['less_average_ms'], -1), 0)} %"))
    return told
