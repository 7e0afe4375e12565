# SPDX-License-Identifier: BSD-2-Clause
"""Pictures and text of the experiment microbenchmark."""

from evaluation.pictures import bars, colour, figure, save
from evaluation.spread import text

# Table 1 and section 8.1, as "received, folded, lost" of 13,500 updates; there is no table for 60 : 5.
PAPER = {(40, "fifo"): "45 %, –, 55.8 %", (40, "olaf"): "36 %, 53 %, 11 %; age −69 %",
         (20, "fifo"): "26 %, –, 74.3 %", (20, "olaf"): "19 %, 69 %, 11.5 %; age −78 %"}
LABELS = {"in turns": "in turns", "at random": "at random", "in bursts": "at random, in bursts"}
ORDERS = {"in turns": "In turns", "at random": "At random", "in bursts": "At random, in bursts at 100 : 60 of the mean rate"}


def rows(result, speed, order):
    return [row for row in result["rows"] if row["speed"] == speed and row["order"] == order]


def draw(result, directory):
    return [ages(result, directory), fold_counts(result, directory)]


def ages(result, directory):
    orders = [order for order in ORDERS if rows(result, "slow", order)]
    drawing, axes = figure(len(orders), width=4.6 * len(orders),
                           title="Average Age-of-Model of 9 clusters, a queue of 8; bars: quartiles of the runs")
    for axis, order in zip(axes, orders):
        of = rows(result, "slow", order)
        outputs = sorted({row["output"] for row in of}, reverse=True)
        series = {}
        for row in of:
            series.setdefault(row["contender"], {})[row["output"]] = row["average_ms"]
        bars(axis, [f"60 : {output}" for output in outputs],
             {name: [found.get(output) for output in outputs] for name, found in series.items()}, "ms")
        axis.set_title(f"workers send {LABELS[order]}", fontsize=10)
        axis.set_xlabel("input : output")
    axes[0].legend(frameon=False)
    return save(drawing, directory, "microbenchmark")


def fold_counts(result, directory):
    """The paper's figure 6."""
    drawing, axes = figure(1, width=7, title="Updates in a message that leaves: share of messages with at most so many")
    order = "in bursts" if rows(result, "slow", "in bursts") else "in turns"
    styles = iter(["-", "--", ":", "-."])
    for row in rows(result, "slow", order):
        if row["contender"] != "olaf":
            continue
        counts = sorted((int(updates), messages) for updates, messages in row["folds"].items())
        total, sum_, xs, ys = sum(messages for _, messages in counts), 0, [], []
        for updates, messages in counts:
            sum_ += messages
            xs.append(updates)
            ys.append(100 * sum_ / total)
        axes[0].step(xs, ys, where="post", label=f"60 : {row['output']}", color=colour("olaf"), linestyle=next(styles))
    axes[0].set_xlabel(f"updates in the message (workers send {LABELS[order]})")
    axes[0].xaxis.get_major_locator().set_params(integer=True)
    axes[0].set_ylabel("% of messages")
    axes[0].set_ylim(0, 102)
    axes[0].legend(frameon=False)
    return save(drawing, directory, "microbenchmark-folds")


def table(found):
    lines = ["| input : output | | received % | folded % | lost % | clusters heard | average age, ms | mean peak, ms | average, against fifo | mean peak | the paper: received, folded, lost |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    for row in found:
        less = ["", ""] if row["contender"] == "fifo" else [
            f"{text(scaled(row[key], -1), 0)} %" for key in ("less_average_ms", "less_mean_peak_ms")]
        digits = 2 if row["speed"] == "slow" else 3
        lines.append(
            f"| 60 : {row['output']} | {row['contender']} | {text(row['received_percent'])} | {text(row['folded_percent'])} | "
            f"{text(row['lost_percent'])} | {text(row['heard'], 0)} | {text(row['average_ms'], digits)} | "
            f"{text(row['mean_peak_ms'], digits)} | {less[0]} | {less[1]} | {PAPER.get((row['output'], row['contender']), '–')} |")
    return "\n".join(lines)


def scaled(figure_, factor):
    """A spread() times a number, its quartiles in order."""
    if figure_ is None:
        return None
    low, high = sorted((figure_["low"] * factor, figure_["high"] * factor))
    return {**figure_, "median": figure_["median"] * factor, "low": low, "high": high}


def page(result):
    slow = [row for row in result["rows"] if row["speed"] == "slow"]
    fast = [row for row in result["rows"] if row["speed"] == "fast"]
    missing = sum(abs(row["unaccounted"]) for row in slow)
    gbps = [row["input_gbps"]["median"] for row in fast]
    parts = [f"""27 workers in 9 clusters, updates of 2,048 bits (32 lanes), 8 places; *auto* has a place for every cluster. Slowed down to an
update every 100 µs, so that a departure takes 150 µs, 300 µs or 1.2 ms. Updates that the queue's books don't account for: {missing} of all runs. Updates were
sent {max(row['late_mean_us']['median'] for row in slow):.0f} µs late on average in the worst case; where that is more than some tens, other work kept the CPUs busy, and arrivals
came in small bursts. {sum(row['again'] for row in slow)} runs were begun anew since their sender was held up for more than 20 ms on average. An age counts from when an update was sent, and each cluster's model as fresh when a run begins; so a cluster that is never heard grows
old from there on.

![Average ages](evaluation-microbenchmark.png)

![Updates in a message](evaluation-microbenchmark-folds.png)

{WHAT_DIFFERS}"""]
    for order, title in ORDERS.items():
        if found := rows(result, "slow", order):
            parts.append(f"**{title}:**\n\n{table(found)}")
    if fast:
        parts.append(f"**As fast as this machine carries it** ({min(gbps):.1f} to {max(gbps):.1f} Gbit/s in, workers in turns; sender, queue and server "
                     f"share the CPUs, so the rates swing and with them the ratio):\n\n{table(fast)}")
    return "\n\n".join(parts)


WHAT_DIFFERS = """**Where the paper's figures come from.** It doesn't say in which order its generator's workers send; its own losses tell some of it. A FIFO
that always has input loses 33 % at 40 of 60, and 67 % at 20 of 60. The paper's loses 55.8 % and 74.3 %, so its output was idle for a third and for a quarter of the
time: its updates come in bursts. Bursts of about 160 at the line's 100 Gbit/s, each with a pause behind it, give a FIFO of 8 places 56 % and 76 %. They are the third
order here. The paper's Olaf loses 11 % and 11.5 %, whatever the rate. That is one cluster of nine, as if eight clusters had kept the eight places and the
ninth had none. Here a place that becomes free goes to whoever comes first.

Ages follow the order, too. With Olaf a cluster has its turn after the eight others, and what leaves then is as fresh as its newest fold. With a FIFO an update waits
behind eight others, and then its cluster goes without a place for a while. Where workers send in turns, as a generator in hardware does, a full FIFO has places
for the same few clusters again and again, and the others starve: its average age is a multiple of Olaf's, as in the paper. Which multiple
depends on how exactly they keep their turns, for every disturbance gives places to others. Where they send at random
nobody starves for long, and Olaf's lead is smaller. In bursts both ages hold the pause, which no queue can shorten. So one order comes near to the paper's ages and
another to its losses. The mean peak falls by less than the average, since the peak of a cluster that starves counts once, however long it lasts."""


def takeaway(result):
    found = {(row["order"], row["output"], row["contender"]): row for row in result["rows"] if row["speed"] == "slow"}
    told = []
    for order in ORDERS:
        fifo, olaf = found.get((order, 20, "fifo")), found.get((order, 20, "olaf"))
        if fifo:
            told.append((f"60 : 20, {order}: lost by fifo, by Olaf; Olaf's average age against fifo's", "74.3 %, 11.5 %; −78 %",
                         f"{text(fifo['lost_percent'])} %, {text(olaf['lost_percent'])} %; {text(scaled(olaf['less_average_ms'], -1), 0)} %"))
    return told
