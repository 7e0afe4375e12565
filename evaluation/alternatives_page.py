# SPDX-License-Identifier: BSD-2-Clause
"""Pictures and text of the experiment alternatives."""

from evaluation.pictures import figure, legend, line, logarithmic, save
from evaluation.spread import runs_of, scaled, text, verdict, written

CONTENDERS = {"forward": "none", "olaf": "olaf", "olaf16": "olaf, 16 bits", "xagg": "xagg", "af_xdp": "AF_XDP", "udp": "UDP",
              "tcp": "tcp", "tcp_single": "tcp, one a segment"}
HEADLINE = [32, 256, 768]  # values, in the opening table
ELEMENTS_TARGET = 2.5


def payload(row):
    """Bytes of an update's elements."""
    return row.get("bytes", 4 * row["values"])


def rows(result, kind, name):
    key = payload if kind == "sizes" else lambda row: row["load"]
    return sorted((row for row in result[kind] if row["contender"] == name), key=key)


def elements(row):
    """A second, in millions."""
    return scaled(row["updates_per_s"], row["values"] / 1e6)


def draw(result, directory):
    return [draw_sizes(result, directory), draw_loads(result, directory)]


def panel(axis, xlabel, ylabel, xticks=None, log=True):
    axis.set_xlabel(xlabel)
    axis.set_ylabel(ylabel)
    logarithmic(axis, "x", xticks)
    if log:
        logarithmic(axis, "y")
    else:
        axis.set_ylim(bottom=0)


def draw_sizes(result, directory):
    drawing, axes = figure(3, width=16, title="One core, as many updates as it takes; bars: quartiles")
    for name, label in CONTENDERS.items():
        found = rows(result, "sizes", name)
        at = [payload(row) for row in found]
        line(axes[0], at, [scaled(row["updates_per_s"], 1e-6) for row in found], label)
        line(axes[1], at, [scaled(row["cpu_ns"], 1e-3) for row in found], label)
        line(axes[2], at, [elements(row) for row in found], label)
    ticks = sorted({payload(row) for row in result["sizes"]})
    for axis, label in zip(axes, ("million updates a second", "CPU time of a million updates, s", "million elements a second")):
        panel(axis, "elements of an update, bytes", label, ticks)
    legend(axes)
    return save(drawing, directory, "alternatives-sizes")


def draw_loads(result, directory):
    drawing, axes = figure(4, width=19, title="One hop at a given load, updates of 256 values; bars: quartiles")
    for name, label in CONTENDERS.items():
        found = rows(result, "loads", name)
        at = [row["load"] / 1e6 for row in found]
        line(axes[0], at, [scaled(row["p50_ns"], 1e-3) for row in found], label)
        line(axes[1], at, [scaled(row["p99_ns"], 1e-3) for row in found], label)
        line(axes[2], at, [row["lost_percent"] for row in found], label)
        line(axes[3], at, [scaled(row["busy"], 100) for row in found], label)
    for axis, label in zip(axes, ("latency, median, µs", "latency, 99th percentile, µs", "updates lost, %", "core busy, %")):
        panel(axis, "load, million updates a second", label, log="latency" in label)
    legend(axes)
    return save(drawing, directory, "alternatives-loads")


def size_table(result):
    lines = ["| bytes | values | contender | M updates/s | Gbit/s | M elements/s | CPU seconds a million updates | CPU, XAgg = 1 | updates/s, XAgg = 1 | "
             "elements/s, XAgg = 1 | core busy % |", "|---" * 11 + "|"]
    xagg = {payload(row): row for row in rows(result, "sizes", "xagg")}
    for row in sorted(result["sizes"], key=payload):
        name = CONTENDERS[row["contender"]] + (f" ({row['mode']})" if row["mode"] else "")
        more = scaled(row["rate_to_xagg"], row["values"] / xagg[payload(row)]["values"])
        lines.append(f"| {payload(row):,} | {row['values']} | {name} | {text(scaled(row['updates_per_s'], 1e-6), 2)} | {text(row['gbit_per_s'])} | "
                     f"{text(elements(row), 0)} | {text(scaled(row['cpu_ns'], 1e-3), 2)} | {text(row['cpu_to_xagg'], 2)} | "
                     f"{text(row['rate_to_xagg'], 2)} | {text(more, 2)} | {text(scaled(row['busy'], 100), 0)} |")
    return "\n".join(lines)


def load_table(result):
    lines = ["| load, M/s | contender | latency p50, µs | p99, µs | lost % | held back % | segments sent again for 100 updates | core busy % |", "|---" * 8 + "|"]
    for row in sorted(result["loads"], key=lambda row: row["load"]):
        lines.append(f"| {row['load'] / 1e6:g} | {CONTENDERS[row['contender']]} | {text(scaled(row['p50_ns'], 1e-3))} | "
                     f"{text(scaled(row['p99_ns'], 1e-3))} | {text(row['lost_percent'], 2)} | "
                     f"{text(row['refused_percent'], 2)} | {text(row['repeated_percent'], 2)} | {text(scaled(row['busy'], 100), 0)} |")
    return "\n".join(lines)


def spans(numbers, digits):
    """"1.2 to 3.4"."""
    numbers = list(numbers)
    return " to ".join(written(of(numbers), digits) for of in (min, max)) if numbers else "–"


UPDATE_GBIT = 256 * 32 / 1e9  # of the elements of an update, where loads are given
PACED = [name for name in CONTENDERS if name not in ("olaf16", "tcp_single")]


def cpu_table(result):
    """XAgg's figure 9: how busy the contender's core is, by rate."""
    found = {(row["contender"], row["load"]): row for row in result["loads"]}
    lines = ["| Gbit/s | " + " | ".join(CONTENDERS[name] for name in PACED) + " |",
             "|---" * (1 + len(PACED)) + "|"]
    for load in sorted({load for _, load in found}):
        cells = [text(scaled(found[name, load]["busy"], 100), 0) if (name, load) in found else "–"
                 for name in PACED]
        lines.append(f"| {load * UPDATE_GBIT:.1f} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def paper_table(result):
    """What the paper's figures say in numbers, and the same here: a row for each number. Figure 8
    is of growth."""
    sizes = {(row["contender"], row["values"]): row for row in result["sizes"]}
    loads = {(row["contender"], row["load"]): row for row in result["loads"]}
    here = sorted({load for _, load in loads})
    least, most = here[0], here[-1]
    ten = min(here, key=lambda load: abs(load * UPDATE_GBIT - 10))
    lowest, highest, at_ten = (f"{load * UPDATE_GBIT:.1f}" for load in (least, most, ten))

    def size(name, values, key, by, digits):
        row = sizes.get((name, values))
        return text(scaled(row[key], by), digits) if row else "–"

    def load(name, at, key, by, digits):
        row = loads.get((name, at))
        return text(scaled(row[key], by), digits) if row else "–"

    def of_tcp(name):
        """Updates/s of all sizes, times TCP's."""
        pairs = [(sizes[name, values]["updates_per_s"], tcp["updates_per_s"])
                 for (other, values), tcp in sizes.items()
                 if other == "tcp_single" and (name, values) in sizes]
        return spans((ours["median"] / tcp["median"] for ours, tcp in pairs), 1)

    def below_tcp(name):
        pairs = [(loads[name, at]["p50_ns"], loads["tcp", at]["p50_ns"])
                 for at in here if (name, at) in loads and ("tcp", at) in loads]
        return spans((100 * (1 - ours["median"] / tcp["median"])
                      for ours, tcp in pairs if ours and tcp), 0)

    def both(figure_):
        return [figure_("xagg"), figure_("olaf")]

    def busy(name):
        ends = [load(name, at, "busy", 100, 0) for at in (least, most)]
        return f"{ends[0]} % to {ends[1]} % ({lowest} to {highest} Gbit/s)"

    told = [
        (6, "M updates/s, 32 values", "4.19",
         *both(lambda name: size(name, 32, "updates_per_s", 1e-6, 2))),
        (6, "M updates/s, 320 values", "1.11",
         *both(lambda name: size(name, 320, "updates_per_s", 1e-6, 2))),
        (6, "times TCP's updates/s, all sizes (here: one a segment)", "2.77 to 3.54",
         *both(of_tcp)),
        (7, "Gbit/s, 256 values", "13.03", *both(lambda name: size(name, 256, "gbit_per_s", 1, 1))),
        (7, "TCP's Gbit/s, 320 values; one a segment", "4.12",
         "; ".join(size(name, 320, "gbit_per_s", 1, 1) for name in ("tcp", "tcp_single")), "–"),
        (8, "by the number of cores", "linear to ten", "[Growth](#growth)", "[Growth](#growth)"),
        (9, "core busy by rate, all of it below", "grows with the rate; DPDK's 100 %", *both(busy)),
        (10, "latency at 10 Gbit/s, µs", "149.5 (mean, ten cores)",
         *both(lambda name: f"{load(name, ten, 'p50_ns', 1e-3, 1)} (median, {at_ten} Gbit/s)")),
        (10, "latency at 100 Gbit/s, µs", "209.3 (mean, ten cores)", "–", "–"),
        (10, "latency below TCP's, all rates, %", "24 to 39", *both(below_tcp)),
        (11, "lost at the highest rate, %", "0.261 (100 Gbit/s, ten cores)",
         *both(lambda name: f"{load(name, most, 'lost_percent', 1, 2)} ({highest} Gbit/s, one core)")),
        (11, "lost at 10 Gbit/s, %", "less, no figure",
         *both(lambda name: f"{load(name, ten, 'lost_percent', 1, 2)} ({at_ten} Gbit/s)")),
        (11, "TCP's segments sent again for 100", "1.5 (100 Gbit/s, ten cores)",
         load("tcp", most, "repeated_percent", 1, 2), "–")]
    return "\n".join(["| figure | what | the paper's XAgg | XAgg's program here | Olaf here |",
                      "|---|---|---|---|---|",
                      *("| " + " | ".join(map(str, row)) + " |" for row in told)])


def page(result):
    return f"""9 clusters, one frame leaves for three updates that come (XAgg's n = 3; Olaf's rate is set so; *none* sends all on). The contender has
CPU 0 for itself, and with it NAPI's threads of its two devices; the generator and the far end are on CPU 1. CPU time is what these threads
have run, with the aggregator's own thread, by the kernel's count (`schedstat`), so it holds the driver, the stack and the socket. *Core busy* is the
part of the time that they run. Where the core isn't busy, the generator is the bound: compare CPU time there. Elements are 32 bits for all;
*olaf, 16 bits* has as many bytes of i16x4, so twice the elements. 3,072 bytes are the most that one page
of a veth's XDP holds; XAgg's program has no way to read more. Each figure is of {runs_of([row["cpu_ns"] for row in result["sizes"]])}.

AF_XDP is by libxdp, {mode(result)} here. TCP-Agg has a connection a worker; segments are as large as the MTU and are merged on arrival (GRO). A TCP worker
writes 32 updates at once, so that small ones share a segment: a stream pays for bytes, not for updates, and with 32 values eight of them come as
one frame. *One a segment* writes each by itself (`MSG_EOR`), as the paper's packets are, and as workers do who have one update at a time.

![Updates a second, CPU time and elements a second by size](evaluation-alternatives-sizes.png)

{size_table(result)}

Latency is from the newest update in a frame leaving its sender to the frame's arrival at the far end: with aggregation it is that of the update
that completes a sum, and with Olaf of the newest in a message that has waited for its turn on the narrow link. *none* is the path's own. Olaf runs
without its drain, so what is due waits for the next arrival. *Held back* is the part of the load that the sender didn't get to send: a TCP sender
that can't write is held back instead of losing, and the generator falls behind where its CPU is full.

![Latency, loss and CPU by load](evaluation-alternatives-loads.png)

{load_table(result)}

The paper's figures are of a 100 Gbit/s NIC, with one core for sizes and ten for latency and loss. It has DPDK, which is 10.3 to 23.1 % faster than its XDP, and no AF_XDP.

{paper_table(result)}

Figure 9, how busy the contender's core is in % by the rate that is offered, updates of 256 values:

{cpu_table(result)}

A veth has no NIC's DMA, and its frames come from another core's cache. One core here carries no 100 Gbit/s, so its latency and loss are of the highest load there is."""


def mode(result):
    return next((row["mode"] for row in result["sizes"] if row["contender"] == "af_xdp"), "")


def claims(result):
    found = {(row["contender"], payload(row) // 4): row for row in result["sizes"]}
    sizes = [values for values in HEADLINE if ("olaf", values) in found]
    rates = [text(found["olaf", values]["rate_to_xagg"], 2) for values in sizes]
    udp = [found["udp", values]["cpu_ns"]["median"] / found["olaf", values]["cpu_ns"]["median"] for values in sizes]
    return [f"**Olaf loses where updates are small.** A core that only aggregates takes {', '.join(rates)} times the updates of XAgg's Algorithm 1 as an XDP program, with {', '.join(map(str, sizes))} values "
            f"in each (targets of this project: more).",
            f"**A kernel that folds costs a part of a process that does.** The same by UDP sockets takes {min(udp):.1f} to {max(udp):.1f} times the CPU time (XAgg against TCP: 2.8 to 3.5)."]


def takeaway(result):
    found = {(row["contender"], payload(row) // 4): row for row in result["sizes"]}
    sizes = [values for values in HEADLINE if ("olaf", values) in found]
    named = ", ".join(map(str, sizes))
    return [*against_xagg(found, sizes, named), *others(found, sizes, named)]


def against_xagg(found, sizes, named):
    cpu, rate = ([found["olaf", values][key] for values in sizes] for key in ("cpu_to_xagg", "rate_to_xagg"))
    told = [(f"updates/s of a core that only aggregates, {named} values, XAgg = 1: Olaf", "–", listed(rate), verdict("more than XAgg", rate, lambda it: it > 1))]
    narrow = [scaled(found["olaf16", values]["rate_to_xagg"], 2) for values in sizes if ("olaf16", values) in found]
    if narrow:
        told.append((f"elements/s of a core that only aggregates, as many bytes as {named} values of 32 bits, XAgg = 1: Olaf with 16 bits", "–", listed(narrow),
                     verdict(f"≥ {ELEMENTS_TARGET}", narrow, lambda it: it >= ELEMENTS_TARGET)))
    return told + [(f"CPU time of an update of {named} values, XAgg = 1: Olaf", "–", listed(cpu), verdict("less than XAgg", cpu, lambda it: it < 1))]


def others(found, sizes, named):
    """CPU time of what isn't XDP, against Olaf's: medians of different turns, so without spread."""
    told = []
    for name in ("af_xdp", "udp", "tcp", "tcp_single"):
        more = [found[name, values]["cpu_ns"]["median"] / found["olaf", values]["cpu_ns"]["median"] for values in sizes]
        paper = "XAgg = 1: 2.8 to 3.5 (packets/s)" if name == "tcp_single" else "–"
        told.append((f"the same, Olaf = 1: {CONTENDERS[name]}", paper, ", ".join(f"{each:.2f}" for each in more),
                     verdict("more than Olaf", [{"median": each} for each in more], lambda it: it > 1)))
    return told


def listed(figures):
    return ", ".join(text(figure_, 2) for figure_ in figures)
