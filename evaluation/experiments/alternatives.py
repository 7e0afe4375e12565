# SPDX-License-Identifier: BSD-2-Clause
"""What a user would pick instead: the same stream through Olaf, through XAgg's Algorithm 1, through aggregators
outside the kernel, and through none. All sums are checked, or there is no figure."""

from evaluation.pictures import figure, line, save
from evaluation.spread import text
from evaluation.streams import in_turns, of, ratio

TITLE = "Alternatives, in one run on the same stream"
SOURCE = "XAgg paper, section VI-B, figures 6, 7 and 9 to 11"

CONTENDERS = {"forward": "none", "olaf": "olaf", "xagg": "xagg", "af_xdp": "AF_XDP", "udp": "UDP", "tcp": "tcp",
              "tcp_single": "tcp, one a segment"}
OPTIONS = {"tcp_single": ("tcp", {"batch": 1})}
LANES = [16, 32, 64, 128, 160, 384]  # two values each: 32 to 320, and 3 KiB
LOADS = [50_000, 100_000, 200_000, 400_000, 800_000, 1_200_000, 2_000_000, 3_000_000]
COMMON = {"apart": True, "queue": 9, "seconds": 0.4}


def run(setting):
    lanes = [16, 128] if setting.quick else LANES
    loads = [100_000, 1_200_000] if setting.quick else LOADS
    turns = setting.repeats(1, 3)
    sizes = in_turns(setting, [case(name, size, lanes=size) for size in lanes for name in CONTENDERS], turns)
    paced = in_turns(setting, [case(name, load, load=load, stamped=True) for load in loads for name in CONTENDERS
                               if name not in OPTIONS], turns)
    return {"effort": f"{turns} turns of all cases, 0.4 s each", "sizes": [size_row(sizes, *key) for key in sizes],
            "loads": [load_row(paced, *key) for key in paced]}


def case(name, value, **options):
    contender, more = OPTIONS.get(name, (name, {}))
    return (name, value), contender, {**COMMON, **more, **options}


def size_row(found, name, lanes):
    runs, xagg = found[name, lanes], found["xagg", lanes]
    return {"contender": name, "values": 2 * lanes, "mode": runs[0]["mode"], "busy": of(runs, "busy"),
            "updates_per_s": of(runs, "taken_per_s"), "gbit_per_s": of(runs, "gbit_per_s"),
            "cpu_ns": of(runs, "cpu_ns_per_update"), "cpu_to_xagg": ratio(runs, xagg, "cpu_ns_per_update"),
            "rate_to_xagg": ratio(runs, xagg, "taken_per_s")}


def load_row(found, name, load):
    runs = found[name, load]
    for one in runs:
        refused = max(0.0, 1 - one["offered_per_s"] / load)
        dropped = one["dropped_per_s"] / one["offered_per_s"] if one["offered_per_s"] else 0.0
        one["lost_percent"] = 100 * min(1.0, one["loss"] + one["lost_behind"] + dropped)
        one["refused_percent"] = 100 * refused
        one["repeated_percent"] = 100 * one["repeated"] / max(1.0, one["offered_per_s"] * COMMON["seconds"])
    return {"contender": name, "load": load, "p50_ns": of(runs, "latency_ns", "p50"), "busy": of(runs, "busy"),
            "p99_ns": of(runs, "latency_ns", "p99"), "lost_percent": of(runs, "lost_percent"),
            "refused_percent": of(runs, "refused_percent"), "repeated_percent": of(runs, "repeated_percent")}


def rows(result, kind, name):
    key = "values" if kind == "sizes" else "load"
    return sorted((row for row in result[kind] if row["contender"] == name), key=lambda row: row[key])


def scaled(f, by):
    return f and {**f, **{key: f[key] * by for key in ("median", "low", "high")}}


def panel(axis, xlabel, ylabel):
    axis.set_xlabel(xlabel)
    axis.set_ylabel(ylabel)
    axis.set_yscale("log")


def draw(result, directory):
    sizes, axes = figure(2, width=12, title="One core, as many updates as it takes; bars: quartiles")
    loads, below = figure(3, width=15, title="One hop at a given load, updates of 256 values; bars: quartiles")
    for name, label in CONTENDERS.items():
        found = rows(result, "sizes", name)
        line(axes[0], [row["values"] for row in found], [scaled(row["updates_per_s"], 1e-6) for row in found], label)
        line(axes[1], [row["values"] for row in found], [scaled(row["cpu_ns"], 1e-3) for row in found], label)
        found = rows(result, "loads", name)
        at = [row["load"] / 1e6 for row in found]
        line(below[0], at, [scaled(row["p50_ns"], 1e-3) for row in found], label)
        line(below[1], at, [scaled(row["p99_ns"], 1e-3) for row in found], label)
        line(below[2], at, [row["lost_percent"] for row in found], label)
    panel(axes[0], "values in an update", "million updates a second")
    panel(axes[1], "values in an update", "CPU time of a million updates, s")
    panel(below[0], "load, million updates a second", "latency, median, µs")
    panel(below[1], "load, million updates a second", "latency, 99th percentile, µs")
    panel(below[2], "load, million updates a second", "updates lost, %")
    below[2].set_yscale("linear")
    axes[0].legend(frameon=False)
    below[0].legend(frameon=False)
    return [save(sizes, directory, "alternatives-sizes"), save(loads, directory, "alternatives-loads")]


def size_table(result):
    lines = ["| values | contender | M updates/s | Gbit/s | CPU seconds a million updates | CPU, XAgg = 1 | updates/s, XAgg = 1 | core busy |",
             "|---|---|---|---|---|---|---|---|"]
    for row in sorted(result["sizes"], key=lambda row: row["values"]):
        name = CONTENDERS[row["contender"]] + (f" ({row['mode']})" if row["mode"] else "")
        lines.append(f"| {row['values']} | {name} | {text(scaled(row['updates_per_s'], 1e-6), 2)} | {text(row['gbit_per_s'])} | "
                     f"{text(scaled(row['cpu_ns'], 1e-3), 2)} | {text(row['cpu_to_xagg'], 2)} | {text(row['rate_to_xagg'], 2)} | "
                     f"{text(scaled(row['busy'], 100), 0)} % |")
    return "\n".join(lines)


def load_table(result):
    lines = ["| load, M/s | contender | latency p50, µs | p99, µs | lost % | sender held back % | sent again % |", "|---|---|---|---|---|---|---|"]
    for row in sorted(result["loads"], key=lambda row: row["load"]):
        lines.append(f"| {row['load'] / 1e6:g} | {CONTENDERS[row['contender']]} | {text(scaled(row['p50_ns'], 1e-3))} | "
                     f"{text(scaled(row['p99_ns'], 1e-3))} | {text(row['lost_percent'], 2)} | "
                     f"{text(row['refused_percent'], 2)} | {text(row['repeated_percent'], 2)} |")
    return "\n".join(lines)


def page(result):
    return f"""9 clusters, one frame leaves for three updates that come (XAgg's n = 3; Olaf's rate is set so; *none* sends all on). The contender has
CPU 0 for itself, and with it NAPI's threads of its two devices; the generator and the far end are on CPU 1. CPU time is what these threads
have run, with the aggregator's own thread, by the kernel's count (`schedstat`), so it holds the driver, the stack and the socket. Where the
core isn't busy, the generator is the bound: compare CPU time there. Elements are 32 bits for all. 768 values are 3 KiB, the most that one page
of a veth's XDP holds; XAgg's program has no way to read more.

AF_XDP is by libxdp, {mode(result)} here. TCP-Agg has a connection a worker; segments are as large as the MTU and are merged on arrival (GRO). A TCP worker
writes 32 updates at once, so that small ones share a segment: a stream pays for bytes, not for updates, and with 32 values eight of them come as
one frame. *One a segment* writes each by itself (`MSG_EOR`), as the paper's packets are, and as workers do who have one update at a time.

![Updates a second and CPU time by size](evaluation-alternatives-sizes.png)

{size_table(result)}

Latency is from the newest update in a frame leaving its sender to the frame's arrival at the far end: with aggregation it is that of the update
that completes a sum, and with Olaf of the newest in a message that has waited for its turn on the narrow link. *none* is the path's own. Olaf runs
without its drain, so what is due waits for the next arrival. A TCP sender that can't write is held back instead of losing.

![Latency and loss by load](evaluation-alternatives-loads.png)

{load_table(result)}

The paper's own figures, on a 100 Gbit/s NIC with ten cores: XDP processes 2.77 to 3.54 times the packets of TCP and is 24 to 39 % below its latency;
it has no AF_XDP. A veth has no NIC's DMA, and its frames come from another core's cache."""


def mode(result):
    return next((row["mode"] for row in result["sizes"] if row["contender"] == "af_xdp"), "")


def takeaway(result):
    found = {(row["contender"], row["values"]): row for row in result["sizes"]}
    said = [("CPU time of an update of 256 values, XAgg's Algorithm 1 = 1: Olaf", "–", text(found["olaf", 256]["cpu_to_xagg"], 2)),
            ("the same: AF_XDP, UDP, TCP", "TCP 2.8 to 3.5",
             ", ".join(text(found[name, 256]["cpu_to_xagg"], 2) for name in ("af_xdp", "udp", "tcp")))]
    return said
