# SPDX-License-Identifier: BSD-2-Clause
"""What 16 bits an element are worth next to 32: elements a second of one core, and bytes on the wire until the
CartPole example has learned. Its workers, its server and the queue are real processes in namespaces."""

import os
import subprocess

from evaluation.pictures import figure, named_bars, save
from evaluation.processes import Process, together
from evaluation.spread import ratio_of_means, spread, text, verdict
from evaluation.topology import SERVER, Line
from evaluation.topology import run as command

TITLE = "Goodput: 16 bits an element, or 32"
SOURCE = "Ours; the papers send 32 bits"
SHORT = "Goodput"

ELEMENTS = 259  # of the CartPole model
HEADERS = 14 + 20 + 8 + 48  # Ethernet, IPv4, UDP, Olaf
ELEMENTS_A_LANE = {"i32x2": 2, "i16x4": 4}
ROUNDING = {"i32x2": [], "i16x4": [], "i16x4, stochastic": ["--stochastic"], "i16x4, feedback": ["--error-feedback"]}
MAX_COUNT = {"i32x2": 256, "i16x4": 32}
PILOTS = 4  # trainings with 32 bits, whose largest gradient says the scale of 16
HEADROOM = 2  # of later gradients
DEPARTURES = 40  # a second, of about 95 updates that three workers send
TARGET, PATIENCE_S = 400, 90
AT_A_TIME = 4
# One takes from half to twice the usual number of updates. So many show a difference of a seventh.
TRAININGS = 40
MOST_LANES = 1152  # OLAF_MAX_LANES (include/olaf/protocol.h)
# Lanes of an update, and the MTU that it has room in.
FRAMES = {"speed": (175, 1500), "jumbo": (1100, 9000)}


def format_of(arm):
    return arm.split(",")[0]


def lanes(arm, elements=ELEMENTS):
    """The checksum lane included."""
    return -(-elements // ELEMENTS_A_LANE[format_of(arm)]) + 1


def frame_bytes(arm):
    return HEADERS + 8 * lanes(arm)


def packing(arm, scale):
    """What workers and server are told of the format. 32 bits have the format's own scale."""
    form = format_of(arm)
    return ["--format", form] + (["--scale", str(scale)] if form == "i16x4" else [])


def learn(setting, arm, seed, scale=None):
    """One training: how many updates the server had taken when the mean episode reached the target, or when patience ended."""
    def program(name):
        return setting.program(f"examples/cartpole/olaf-cartpole-{name}")

    with Line(setting.program("loader/olaf")) as network:
        network.attach_at("switch", f"{DEPARTURES * 8 * frame_bytes(arm)}bit", "auto", "--max-clusters", "16")
        command(network.olaf, "--netns", network.attached[0], "cluster", "set", "in", "0", "--max-count",
                str(MAX_COUNT[format_of(arm)]))
        shared = packing(arm, scale)
        with Process(network, "server", program("server"), "--bind", SERVER, "--clusters", 1, "--seed", seed,
                     "--target", TARGET, "--stop-at-target", "--duration", PATIENCE_S, "--quiet", *shared) as server, \
             Process(network, "workers", program("worker"), "--server", SERVER, "--workers", "0-2", "--seed", seed,
                     *shared, *ROUNDING[arm]) as workers:
            total = server.outcome(PATIENCE_S + 30)["total"]
            ended = workers.result()
    return {"updates": total["updates_folded"], "reached": total["clusters_at_target"] == 1, "messages": total["updates_received"],
            "clipped": ended["elements_clipped"], "largest": ended["largest_element"]}


def fitting_scale(setting, largest):
    """libolaf's, for 16 bits."""
    code = ("import olaf, sys; print(olaf.Codec(format='i16x4', max_count=int(sys.argv[1])).fitting(float(sys.argv[2]), float(sys.argv[3])).scale)")
    done = subprocess.run(["/usr/bin/python3", "-c", code, str(MAX_COUNT["i16x4"]), str(largest), str(HEADROOM)], text=True, capture_output=True,
                          env={**os.environ, "PYTHONPATH": str(setting.build / "python"), "PYTHONDONTWRITEBYTECODE": "1"}, check=False)
    if done.returncode:
        raise RuntimeError(f"the scale for a gradient of {largest}: {done.stderr.strip()}")
    return float(done.stdout)


def speed(setting, form, size, mtu):
    """Million elements a second with sender, queue and receiver on one core. `olaf send` checks the sums."""
    olaf = setting.program("loader/olaf")
    pinned = ["taskset", "-c", "0", olaf, "--json"]
    with Line(olaf, mtu) as network:
        # Far below what comes, so that most of it folds; as many frames a second whatever their size.
        network.attach_at("switch", f"{20_000 * 8 * (HEADERS + 8 * size)}bit", "auto", "--max-clusters", "64")
        with Process(network, "server", *pinned, "receive", "--bind", SERVER, "--max-clusters", 64) as receiver, \
             Process(network, "workers", *pinned, "send", SERVER, "--clusters", 9, "--workers", 3, "--lanes", size,
                     "--format", form, "--rate", "unlimited", "--for", "1s" if setting.quick else "3s") as sender:
            found = sender.outcome(60)
            receiver.result()
    elements = (size - 1) * ELEMENTS_A_LANE[form]
    return elements * found["total"]["updates_received"] / found["measured_ns"] * 1e3


def trained(setting, wanted, what, scale=None):
    """{arm: what came of its trainings} of [(arm, seed)], several at a time."""
    return together(setting, AT_A_TIME, [(arm, learn, setting, arm, seed, scale) for arm, seed in wanted], lambda _: what)


def run(setting):
    pilots = trained(setting, [("i32x2", 1_000 + seed) for seed in range(setting.repeats(2, PILOTS))], "pilot")["i32x2"]
    largest = max(pilot["largest"] for pilot in pilots)
    scale = fitting_scale(setting, largest)
    seeds = range(1, setting.repeats(2, TRAININGS) + 1)
    learned = trained(setting, [(arm, seed) for seed in seeds for arm in ROUNDING], "training", scale)
    turns = setting.repeats(2, 7)
    speeds = {kind: {form: [] for form in ELEMENTS_A_LANE} for kind in FRAMES}
    for turn in range(turns):
        for kind, frame in FRAMES.items():
            for form, found in speeds[kind].items():
                found.append(speed(setting, form, *frame))
        setting.progress(f"speed {turn + 1} of {turns}")
    return {"effort": f"{len(learned['i32x2'])} trainings of each, {turns} turns of speed", "rows": [row_of(arm, learned) for arm in ROUNDING],
            "pilots": len(pilots), "largest": largest, "scale": scale,
            **{kind: {form: spread(found) for form, found in of.items()}
               for kind, of in speeds.items()},
            "speed_ratio": over(speeds["speed"]["i16x4"], speeds["speed"]["i32x2"]),
            "jumbo_gain": {form: over(speeds["jumbo"][form], speeds["speed"][form])
                           for form in ELEMENTS_A_LANE}}


def over(values, to):
    """The spread of ratios, turn by turn."""
    return spread([value / other for value, other in zip(values, to)])


def row_of(arm, learned):
    """A training that never reaches the target counts with what it had taken when patience ended: with less than it needs, but counted."""
    runs = learned[arm]
    taken = [each["updates"] for each in runs]
    return {"arm": arm, "updates": spread(taken), "never": sum(not each["reached"] for each in runs),
            "clipped": sum(each["clipped"] for each in runs), "frame_bytes": frame_bytes(arm),
            "kilobytes": spread([updates * frame_bytes(arm) / 1e3 for updates in taken]),
            "to_wide": ratio_of_means(taken, [each["updates"] for each in learned["i32x2"]])}


def draw(result, directory):
    drawing, axes = figure(3, width=14, title=f"CartPole until the mean episode reached {TARGET} steps; elements a second; bars: quartiles")
    rows = {row["arm"]: row for row in result["rows"]}
    for axis, key, label in ((axes[0], "updates", "updates of three workers"), (axes[1], "kilobytes", "kB of updates from workers")):
        named_bars(axis, {arm: row[key] for arm, row in rows.items()}, label)
    named_bars(axes[2], result["speed"], "million elements a second and core")
    return [save(drawing, directory, "goodput")]


def of_wide(row):
    """"0.98 (95 %: 0.84–1.13)"."""
    found = row["to_wide"]
    if found is None or row["arm"] == "i32x2":
        return "1" if found else "–"
    return f"{found['ratio']:.2f} (95 %: {found['low']:.2f}–{found['high']:.2f})"


def speed_table(result):
    """A row for each format. A result of before there were jumbo frames has none of them."""
    (lanes, mtu), (most, jumbo) = FRAMES.values()
    lines = [f"| | M elements/s and core, {lanes} lanes (MTU {mtu}) | {most:,} lanes (MTU {jumbo}) | "
             "times as many |", "|---|---|---|---|"]
    for form, found in result["speed"].items():
        jumbos, gain = (result.get(key, {}).get(form) for key in ("jumbo", "jumbo_gain"))
        lines.append(f"| {form} | {text(found, 0)} | {text(jumbos, 0)} | {text(gain, 2)} |")
    return "\n".join(lines)


def page(result):
    lines = ["| | updates until the target | mean, of i32x2's | never | elements clipped | a frame, bytes | sent until then, kB |",
             "|---|---|---|---|---|---|---|"]
    lines += [f"| {row['arm']} | {text(row['updates'], 0)} | {of_wide(row)} | {row['never']} | {row['clipped']} | {row['frame_bytes']} | "
              f"{text(row['kilobytes'], 0)} |" for row in result["rows"]]
    table = "\n".join(lines)
    speeds = speed_table(result)
    return f"""Three CartPole workers send an update every 30 ms through a queue that lets {DEPARTURES} frames a second out, until the mean
of 20 episodes is {TARGET} steps. The scale of 16 bits is {result.get("scale", 0):g} steps a unit: `fitting_scale()` gave it for {result.get("largest", 0):.3f},
the largest gradient that {result.get("pilots", PILOTS)} other trainings with 32 bits have seen, with room for one {HEADROOM} times as large, and for a max_count of {MAX_COUNT["i16x4"]}. *stochastic* rounds up or
down at random, so that nothing is lost on average; *feedback* adds what rounding cut off to the next update. How long a training takes is mostly chance, so what counts are means of many:
the interval in which their ratio lies with 95 % confidence is the bootstrap's. A training that hasn't reached the target after {PATIENCE_S} s (*never*) counts with
the updates that it had taken by then, which are fewer than it needs. Bytes are of Ethernet frames from the workers; answers carry float32 in all.

![Updates and bytes until the target](evaluation-goodput.png)

{table}

Elements a second through one core, which sends, folds and receives, in frames of 1,500 bytes: i16x4 has {text(result['speed_ratio'], 2)} times
those of i32x2. A jumbo frame has {FRAMES['jumbo'][0]:,} lanes here, of the {MOST_LANES:,} that the queue carries; XAgg's program reads no frame that long.

{speeds}

Nine clusters of three workers send as fast as they can, the queue lets 20,000 frames a second out, and every sum is exact. The
kernel adds lanes and doesn't look at what they hold."""


def takeaway(result):
    rows = {row["arm"]: row for row in result["rows"]}
    narrow = [arm for arm in ROUNDING if arm != "i32x2" and arm in rows]
    none_slower = verdict("not more, with 95 %", [{"median": rows[arm]["to_wide"]["low"]} for arm in narrow if rows[arm]["to_wide"]], lambda low: low <= 1)
    return [("M elements a second and core, sender and receiver on it too: i32x2, i16x4", "–", ", ".join(text(found, 0) for found in result["speed"].values())),
            ("the same, i16x4 : i32x2", "–", text(result["speed_ratio"], 2)),
            *jumbo_takeaway(result),
            (f"updates until CartPole has learned, i32x2 = 1: {'; '.join(narrow)}", "–", "; ".join(of_wide(rows[arm]) for arm in narrow), none_slower)]


def jumbo_takeaway(result):
    if "jumbo" not in result:
        return []
    return [(f"the same in jumbo frames of {FRAMES['jumbo'][0]:,} lanes: i32x2, i16x4", "–",
             ", ".join(text(found, 0) for found in result["jumbo"].values()))]
