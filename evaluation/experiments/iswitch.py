# SPDX-License-Identifier: BSD-2-Clause
"""How long a gradient takes to be summed, where each worker has a link of its own that decides: by a parameter server, by Gloo's ring
and by rounds in the kernel."""

import contextlib
import json

from evaluation.pictures import bars, figure, legend, save
from evaluation.processes import python
from evaluation.setting import ROOT
from evaluation.spread import spread, text
from evaluation.topology import Network

TITLE = "Four workers behind links of their own: rounds, a ring, a parameter server"
SOURCE = "iSwitch, tables 1, 3 and 4"
SHORT = "Sums over links"

WORKERS, MTU, JOB, POOL = 4, 1500, 7, 256
MBIT = 200  # a fiftieth of the paper's links: so these decide, and not two CPUs
TURNS = 7
PATIENCE_S = 150
NODE, SERVER = "10.65.24.100", "10.65.24.99"
# The models of iSwitch's table 1, and what part of an iteration with a parameter server is aggregation (its figure 4); and how much
# faster an iteration became there with iSwitch (table 3, over a parameter server).
MODELS = {40_020: "PPO", 157_520: "DDPG", 3_310_000: "A2C", 6_410_000: "DQN"}
SHARES = (0.499, 0.832)
PAPER = (1.72, 3.66)
CONTENDERS = {"parameter server": "by_server", "ring": "by_gloo", "rounds": "by_olaf"}


def bounds_ms(size):
    """What the links allow at best: the server's own link carries all vectors in, then out; a ring's each two thirds of that of a pair;
    a node's workers send a vector and get one at the same time."""
    once = 8e3 * size / (MBIT * 1e6)
    return {"parameter server": 2 * WORKERS * once, "ring": 2 * (WORKERS - 1) / WORKERS * once, "rounds": once}


class Links(Network):
    """Workers, a parameter server and a node at one bridge. All but the node have a link of MBIT both ways; the node's is as fast as the
    machine, as a switch's backplane."""

    def __init__(self, olaf):
        super().__init__(olaf, MTU)

    def _build(self):
        self._space("middle")
        self._bridge("middle")
        hosts = {f"worker{rank}": f"10.65.24.{rank + 1}" for rank in range(WORKERS)} | {"server": SERVER, "node": NODE}
        for name, address in hosts.items():
            device = "in" if name == "node" else "eth0"
            self._space(name)
            self._link(name, device, "middle", f"to-{name}")
            self._ip("middle", "link", "set", f"to-{name}", "master", "bridge")
            self._ip(name, "address", "add", f"{address}/24", "dev", device)
            if name != "node":
                self._shape(name, device)
                self._shape("middle", f"to-{name}")

    def _shape(self, name, device):
        # A burst of five frames: a fifth of the smallest vector, so that even that one takes the link's time.
        self._tc(name, "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{MBIT}mbit", "burst", "8k", "latency", "50ms")


def measure(setting, sizes, turns):
    """[{bytes, contender: [milliseconds]}]; sums were checked first, by the workers."""
    setup = {"workers": WORKERS, "servers": 1, "module": str(setting.build / "python"), "node": NODE, "job": JOB, "mtu": MTU,
             "format": "i32x2", "threads": 1, "gso": True, "alone": False, "master": "10.65.24.1", "device": "eth0",
             "sizes": [[size, turns] for size in sizes]}
    with Links(setting.program("loader/olaf")) as network, contextlib.ExitStack() as stack:
        network.attach_local("node", "--round-slots", POOL)
        network.job("node", JOB, "--children", WORKERS, "--lanes", (MTU - 76) // 8, "--pool", POOL)
        processes = [stack.enter_context(python(network, place, setting.build, ROOT / "bench/allreduce/worker.py",
                                                json.dumps(setup | {"rank": rank})))
                     for rank, place in enumerate([*(f"worker{rank}" for rank in range(WORKERS)), "server"])]
        for process in processes:
            process.ready()
        for process in processes:
            process.start()
        lines = []
        for size in sizes:
            setting.progress(f"{size / 1e3:,.0f} kB, {turns} turns")
            lines.append(processes[0].say(PATIENCE_S))
        for process in processes:
            process.say(PATIENCE_S)  # so that none leaves before another is through
        return [{"bytes": line["bytes"], **{name: [1e3 * seconds for seconds, _ in line[key]] for name, key in CONTENDERS.items()}}
                for line in lines]


def run(setting):
    sizes = [40_020] if setting.brief else list(MODELS)
    turns = setting.repeats(2, TURNS)
    rows = []
    for line in measure(setting, sizes, turns):
        server, ring, rounds = (line[name] for name in CONTENDERS)
        rows.append({"bytes": line["bytes"], "ms": {name: spread(line[name]) for name in CONTENDERS}, "bounds_ms": bounds_ms(line["bytes"]),
                     "to_server": spread([theirs / ours for theirs, ours in zip(server, rounds)]),
                     "to_ring": spread([theirs / ours for theirs, ours in zip(ring, rounds)])})
    return {"effort": f"{turns} turns", "rows": rows}


def named(size):
    return f"{MODELS[size]}, {size / 1e6:.2f} MB" if size >= 1e6 else f"{MODELS[size]}, {size / 1e3:.1f} kB"


def draw(result, directory):
    drawing, axes = figure(1, width=11, title=f"A sum among {WORKERS} workers over links of {MBIT} Mbit/s each; bars: quartiles")
    bars(axes[0], [named(row["bytes"]) for row in result["rows"]], {name: [row["ms"][name] for row in result["rows"]] for name in CONTENDERS},
         "milliseconds")
    axes[0].set_yscale("log")
    legend(axes)
    return [save(drawing, directory, "iswitch")]


def end_to_end(speed_up):
    """How much faster an iteration is, by the paper's least and largest share of aggregation."""
    return [1 / (1 - share + share / speed_up) for share in SHARES]


def page(result):
    lines = ["| model | | ms | the links' bound, ms | times as fast as the server | as the ring |", "|---|---|---|---|---|---|"]
    for row in result["rows"]:
        for name in CONTENDERS:
            faster = (f"{text(row['to_server'], 2)} | {text(row['to_ring'], 2)}" if name == "rounds" else " | ")
            lines.append(f"| {named(row['bytes'])} | {name} | {text(row['ms'][name], 1)} | {row['bounds_ms'][name]:.1f} | {faster} |")
    table = "\n".join(lines)
    calculated = "; ".join(f"{named(row['bytes'])}: {low:.2f} to {high:.2f}" for row in result["rows"]
                           for low, high in [end_to_end(row["to_server"]["median"])])
    return f"""{WORKERS} workers and a parameter server each have a link of {MBIT} Mbit/s both ways, an MTU of {MTU}, and one bridge in common; the node that sums is at
that bridge. A fiftieth of the paper's links, so that links decide and not two CPUs. Float32 vectors of the sizes of the paper's models;
every sum is checked before anything is timed. A time is from when the last worker has begun until the last has the sum.

![Milliseconds for a sum](evaluation-iswitch.png)

{table}

The server's link carries every worker's vector in and the sum out to each (2 N S / R); a ring sends each part on 2 (N − 1) times; a node's workers send and
receive a vector once, at the same time (S / R). A vector of at most 128 frames travels along with its exponents, by a guess from the last one
of that length ([rounds.md](rounds.md)): where that doesn't hold, or with `guess_bits=0`, the exponents go ahead of it and it takes twice as many frames, and twice the
bound. So the models of 40.0 and 157.5 kB are summed in half the time for it.

**What that makes of an iteration**, calculated: 1 / (1 − s + s / k) with k the speed-up over the server and s = {SHARES[0]} and {SHARES[1]}, the least and the largest share
of aggregation in an iteration that the paper measured: {calculated}. The paper's iterations became {PAPER[0]} to {PAPER[1]} times as fast."""


def claims(result):
    large = [row for row in result["rows"] if row["bytes"] >= 1e6]
    if not large:
        return []
    return [f"**Sums in the kernel are {' and '.join(text(row['to_server'], 1) for row in large)} times as fast as a parameter server's**, and "
            f"{' and '.join(text(row['to_ring'], 1) for row in large)} times as fast as a ring's, for vectors of 3.31 and 6.41 MB over links that decide; iterations "
            f"would be {min(end_to_end(row['to_server']['median'])[0] for row in large):.2f} to {max(end_to_end(row['to_server']['median'])[1] for row in large):.2f} "
            f"times as fast (iSwitch: {PAPER[0]} to {PAPER[1]})."]


def takeaway(result):
    large = [row for row in result["rows"] if row["bytes"] >= 1e6]
    if not large:
        return []
    return [("a sum of 3.31 and 6.41 MB among four workers over their own links, times as fast as a parameter server; as a ring",
             f"iterations {PAPER[0]}–{PAPER[1]} ×", f"{', '.join(text(row['to_server'], 2) for row in large)}; {', '.join(text(row['to_ring'], 2) for row in large)}")]
