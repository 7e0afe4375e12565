# SPDX-License-Identifier: BSD-2-Clause
"""What a user would pick instead: the same stream through Olaf, through XAgg's Algorithm 1, through aggregators
outside the kernel, and through none. All sums are checked, or there is no figure."""

from evaluation.alternatives_page import CONTENDERS, claims, draw, page, takeaway  # noqa: F401
from evaluation.streams import in_turns, of, ratio

TITLE = "Alternatives, in one run on the same stream"
SOURCE = "XAgg paper, section VI-B, figures 6, 7 and 9 to 11"
SHORT = "Alternatives"

OPTIONS = {"tcp_single": ("tcp", {"batch": 1}), "olaf16": ("olaf", {"format": "i16x4"})}
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
    return {"contender": name, "values": (4 if name == "olaf16" else 2) * lanes, "bytes": 8 * lanes, "mode": runs[0]["mode"], "busy": of(runs, "busy"),
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
