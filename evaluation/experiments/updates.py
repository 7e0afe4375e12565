# SPDX-License-Identifier: BSD-2-Clause
"""How long until the server has so many updates of each worker: a recorded training, played by a hundred clusters.
What is lost is sent again, by both contenders' workers."""

import dataclasses
import itertools
import pathlib
import random

from evaluation.pictures import figure, legend, line, logarithmic, save
from evaluation.playing import LANES, frame_bits, play, read_trace, write_trace
from evaluation.setting import ROOT
from evaluation.spread import runs_of, spread, text
from evaluation.topology import Line
from evaluation.training import LANES as LUNAR_LANDER_LANES
from evaluation.training import MTU as LUNAR_LANDER_MTU
from evaluation.training import TRACE as LUNAR_LANDER

TITLE = "Time to 200 updates from each of 300 workers"
SOURCE = "OLAF paper, section 8.2, figure 7"
SHORT = "Time to 200 updates"

CLUSTERS, QUEUE = 100, 8
SEND_AGAIN_MS = 100  # above every wait in a queue of 8 here
CONTENDERS = {"fifo": ("fifo", QUEUE), "olaf": ("olaf", QUEUE), "olaf, auto": ("olaf", "auto")}


@dataclasses.dataclass(frozen=True)
class Game:
    """What is played: a recorded training, with the size of its updates. parts: of what the
    workers offer, that the output carries; quick_updates and quick_parts: of a first look."""

    trace: pathlib.Path
    updates: int  # of each worker, the first ones from `begin_s` on
    parts: tuple
    quick_updates: int
    quick_parts: tuple
    lanes: int = LANES
    mtu: int = 1500
    begin_s: float = 0

    def moments(self, updates, seed):
        """A trace of CLUSTERS clusters."""
        begin_us = self.begin_s * 1e6
        return scaled([(at - begin_us, *who) for at, *who in read_trace(self.trace) if at >= begin_us],
                      updates, seed)


# LunarLander's workers have an update every quarter of a second: two hundred of each would take
# eight times as long. In the first ten seconds episodes are short, and updates come evenly.
GAMES = {
    "CartPole": Game(ROOT / "evaluation/traces/cartpole.txt", 200, (1.0, 0.5, 0.25, 0.125),
                     quick_updates=40, quick_parts=(0.5, 0.25)),
    "LunarLander": Game(LUNAR_LANDER, 24, (0.5, 0.125), quick_updates=8, quick_parts=(0.25,),
                        lanes=LUNAR_LANDER_LANES, mtu=LUNAR_LANDER_MTU, begin_s=10)}


def scaled(recorded, updates, seed):
    """The recorded clusters again and again until there are CLUSTERS, each begun at another moment of the first
    second; the first so many updates of each worker."""
    rng = random.Random(seed)
    clusters = {}
    for at, cluster, worker in recorded:
        mine = clusters.setdefault(cluster, {}).setdefault(worker, [])
        if len(mine) < updates:
            mine.append(at)
    kinds, moments = sorted(clusters), []
    for cluster in range(CLUSTERS):
        later = rng.uniform(0, 1e6)
        for worker, times in clusters[kinds[cluster % len(kinds)]].items():
            moments += [(at + later, cluster, worker) for at in times]
    return sorted(moments)


def offered_bps(moments, lanes=LANES):
    """Of all workers while all of them send: the sum of their rates."""
    ends, counts = {}, {}
    for at, *who in moments:
        first, _ = ends.get(tuple(who), (at, at))
        ends[tuple(who)] = (first, at)
        counts[tuple(who)] = counts.get(tuple(who), 0) + 1
    return sum(frame_bits(lanes) * (counts[who] - 1) / ((last - first) / 1e6)
               for who, (first, last) in ends.items())


def measure(setting, network, trace, contender, bps, lanes):
    policy, places = CONTENDERS[contender]
    network.attach_at("switch", f"{round(bps)}bit", places, "--policy", policy, "--max-clusters", str(CLUSTERS),
                      "--drain-interval", "10us")
    limit_s = 60 if setting.quick else 240
    run = play(setting, network, trace, "--send-again-ms", str(SEND_AGAIN_MS),
               "--limit-s", str(limit_s), clusters=CLUSTERS, lanes=lanes, answer=True,
               patience_s=limit_s + 30)
    network.detach()
    if run["sent"]["missing"]:
        raise RuntimeError(f"{contender} at {bps / 1e6:.1f} Mbit/s still lacked {run['sent']['missing']} updates after {limit_s} s")
    sent, queue = run["sent"], run["queue"]
    return {"seconds": sent["lasted_ns"] / 1e9, "again_percent": 100 * sent["again"] / sent["sent"],
            "lost_percent": 100 * queue["updates_dropped"] / (sent["sent"] + sent["again"]),
            "superseded_percent": 100 * queue["updates_superseded"] / (sent["sent"] + sent["again"]),
            "late_mean_us": sent["late_mean_ns"] / 1e3}


def play_game(setting, name, turns):
    """The rows of one game, and how long its traces take, in seconds."""
    game = GAMES[name]
    updates = game.quick_updates if setting.quick else game.updates
    parts = game.quick_parts if setting.quick else game.parts
    found, alone = {}, []
    trace = setting.directory / "updates.trace"
    with Line(setting.program("loader/olaf"), game.mtu) as network:
        for turn in range(turns):
            moments = game.moments(updates, turn)
            alone.append(moments[-1][0] / 1e6)
            write_trace(trace, moments)
            offered = offered_bps(moments, game.lanes)
            for part, contender in itertools.product(parts, CONTENDERS):
                setting.progress(f"{name}, run {turn + 1} of {turns}, {part:g} of what is offered, "
                                 f"{contender}")
                found.setdefault((part, contender), []).append(
                    measure(setting, network, trace, contender, offered * part, game.lanes))
    trace.unlink()
    rows = []
    for (part, contender), runs in found.items():
        fifo = found[part, "fifo"]
        rows.append({"game": name, "part": part, "contender": contender,
                     **{key: spread([each[key] for each in runs]) for key in runs[0]},
                     "speed_up": spread([theirs["seconds"] / ours["seconds"] for ours, theirs in zip(runs, fifo)])})
    return {"rows": rows, "updates": updates, "trace_s": spread(alone)}


def run(setting):
    turns = setting.repeats(1, 3)
    played = {name: play_game(setting, name, turns) for name in GAMES}
    first = played.pop("CartPole")
    return {"effort": f"{turns} runs, {first['updates']} updates of each worker", **first,
            "others": played}


def draw(result, directory):
    drawing, axes = figure(2, width=11, title=f"Time until the server has {result['updates']} updates from each of 300 workers; bars: quartiles")
    for contender in CONTENDERS:
        of = [row for row in result["rows"] if row["contender"] == contender]
        if contender != "fifo":
            line(axes[0], [row["part"] for row in of], [row["speed_up"] for row in of], contender)
        line(axes[1], [row["part"] for row in of], [row["again_percent"] for row in of], contender)
    axes[0].axhline(1, color="#999999", linewidth=0.8)
    axes[0].set_ylabel("times as fast as fifo")
    axes[0].set_ylim(bottom=0)
    axes[1].set_ylabel("sent again, % of what there was to send")
    axes[1].set_yscale("symlog", linthresh=10)
    axes[1].set_yticks([0, 10, 100, 1_000, 10_000], ["0", "10", "100", "1k", "10k"])
    axes[1].set_ylim(bottom=0)
    for axis in axes:
        logarithmic(axis, "x", sorted(row["part"] for row in result["rows"] if row["contender"] == "fifo"))
        axis.set_xlabel("rate of the output / rate that is offered")
    legend(axes)
    return [save(drawing, directory, "updates")]


def table(found):
    lines = ["| output / offered | | time, s | times as fast as fifo | sent again, % of what there was to send | "
             "dropped by the queue, % of what was sent | superseded, % of what was sent |",
             "|---|---|---|---|---|---|---|"]
    for row in sorted(found, key=lambda row: -row["part"]):
        speed = "" if row["contender"] == "fifo" else f"{text(row['speed_up'], 2)} ×"
        lines.append(f"| {row['part']:g} | {row['contender']} | {text(row['seconds'], 1)} | {speed} | {text(row['again_percent'])} | "
                     f"{text(row['lost_percent'])} | {text(row['superseded_percent'])} |")
    return "\n".join(lines)


def lunar_lander(result):
    """Its paragraph and table, or that this result has none."""
    found = result.get("others", {}).get("LunarLander")
    if found is None:
        return "This result has no run of LunarLander's trace: it was made before there was one."
    game = GAMES["LunarLander"]
    return f"""**LunarLander's workers**, as the paper's: PPO, an update once an episode has ended, so at uneven moments, every 0.16 to 0.42 s on average, in frames of
{frame_bits(game.lanes) // 8:,} bytes ({game.lanes:,} lanes, MTU {game.mtu}). Played the same way, {found['updates']} updates of each of 300 workers; the trace takes
{text(found['trace_s'])} s ({runs_of([row['seconds'] for row in found['rows']])}).

{table(found['rows'])}"""


def page(result):
    return f"""CartPole's workers (9 clusters of 3, with 20, 30 and 45 ms between updates, trained for real) were recorded as they sent, and are played by 100
clusters ([the traces](../evaluation/traces/README.md)). 8 places, as in the paper; *auto* has one for every cluster. An update that isn't answered
within {SEND_AGAIN_MS} ms is sent again, with either queue, and so is one that a later update of its worker replaced in the queue (*superseded*): that
counts against Olaf. An update may be sent again many times, so that these are more than 100 % of what there was to send. Nobody
is faster than the trace, which takes {text(result['trace_s'])} s. The rate that is offered is the sum of all workers' rates while all of them send.
Each figure is of {runs_of([row["seconds"] for row in result["rows"]])}.

![Speed-up and what was sent again](evaluation-updates.png)

{table(result["rows"])}

{lunar_lander(result)}

The paper trains LunarLander and draws its speed-up without numbers in the text. Where the output carries all that is offered nobody can be faster, and a FIFO
needs at least the time in which the output can send each update by itself; so the speed-up grows with one over the output's rate. With 100 clusters
and 8 places Olaf drops, too: once eight clusters wait, updates of 92 others find no place, and are sent again as often as a FIFO's. A place for each
(*auto*) ends that."""


def claims(result):
    least = min(row["part"] for row in result["rows"])
    found = {row["contender"]: row for row in result["rows"] if row["part"] == least}
    return [f"**All updates of a training are there sooner.** Where the output carries {least:g} of what 300 workers offer, and what is lost is sent again, Olaf has "
            f"{result['updates']} of each {text(found['olaf']['speed_up'], 1)} times as soon as a FIFO (the paper: sooner, more so the narrower the output)."]


def takeaway(result):
    least = min(row["part"] for row in result["rows"])
    found = {row["contender"]: row for row in result["rows"] if row["part"] == least}
    told = [(f"time until {result['updates']} updates of each worker are there, output {least:g} of what is offered, against fifo",
             "faster, more so the narrower the output", speed_ups(found))]
    if lander := result.get("others", {}).get("LunarLander"):
        narrow = min(row["part"] for row in lander["rows"])
        ours = {row["contender"]: row for row in lander["rows"] if row["part"] == narrow}
        told.append((f"the same of LunarLander's workers, {lander['updates']} updates of each, "
                     f"output {narrow:g}", "faster, no figure", speed_ups(ours)))
    return told


def speed_ups(found):
    """How much sooner than with a FIFO, by contender."""
    return "; ".join(f"{name} {text(found[name]['speed_up'], 2)} ×" for name in CONTENDERS if name in found and name != "fifo")
