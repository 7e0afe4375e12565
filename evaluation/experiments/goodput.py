# SPDX-License-Identifier: BSD-2-Clause
"""What 16 bits an element are worth next to 32: elements a second of one core, and bytes on the wire until the
CartPole example has learned. Its workers, its server and the queue are real processes in namespaces."""

import concurrent.futures

from evaluation.pictures import bars, figure, save
from evaluation.processes import Process
from evaluation.spread import ratio_of_means, spread, text
from evaluation.topology import SERVER, Line
from evaluation.topology import run as command

TITLE = "Goodput: 16 bits an element, or 32"
SOURCE = "Ours; the papers send 32 bits"

ELEMENTS = 259  # of the CartPole model
HEADERS = 14 + 20 + 8 + 48  # Ethernet, IPv4, UDP, Olaf
ELEMENTS_A_LANE = {"i32x2": 2, "i16x4": 4}
# The scale that 16 bits get is fitting_scale() of the largest gradient seen, 0.19, with max_count 32.
ARMS = {"i32x2": ["--format", "i32x2"], "i16x4": ["--format", "i16x4", "--scale", "4096"],
        "i16x4, feedback": ["--format", "i16x4", "--scale", "4096", "--error-feedback"]}
MAX_COUNT = {"i32x2": 256, "i16x4": 32}
DEPARTURES = 40  # a second, of about 95 updates that three workers send
TARGET, PATIENCE_S = 400, 90
AT_A_TIME = 4
# One takes from half to twice the usual number of updates. So many show a difference of a seventh.
TRAININGS = 40
FULL_LANES = 175  # what a frame of MTU 1500 has room for


def format_of(arm):
    return arm.split(",")[0]


def lanes(arm, elements=ELEMENTS):
    """The checksum lane included."""
    return -(-elements // ELEMENTS_A_LANE[format_of(arm)]) + 1


def frame_bytes(arm):
    return HEADERS + 8 * lanes(arm)


def learn(setting, arm, seed):
    """One training: how many updates the server had taken when the mean episode reached the target; None: never."""
    def program(name):
        return setting.program(f"examples/cartpole/olaf-cartpole-{name}")

    with Line(setting.program("loader/olaf")) as network:
        network.attach_at("switch", f"{DEPARTURES * 8 * frame_bytes(arm)}bit", "auto", "--max-clusters", "16")
        command(network.olaf, "--netns", network.attached[0], "cluster", "set", "in", "0", "--max-count",
                str(MAX_COUNT[format_of(arm)]))
        # Rounding is the worker's own business; format and scale are the server's, too.
        shared = [word for word in ARMS[arm] if word != "--error-feedback"]
        with Process(network, "server", program("server"), "--bind", SERVER, "--clusters", 1, "--seed", seed,
                     "--target", TARGET, "--stop-at-target", "--duration", PATIENCE_S, "--quiet", *shared) as server, \
             Process(network, "workers", program("worker"), "--server", SERVER, "--workers", "0-2", "--seed", seed,
                     *ARMS[arm]) as workers:
            total = server.outcome(PATIENCE_S + 30)["total"]
            clipped = workers.result()["elements_clipped"]
    reached = total["clusters_at_target"] == 1
    return {"updates": total["updates_folded"] if reached else None, "messages": total["updates_received"],
            "clipped": clipped}


def speed(setting, form, size):
    """Million elements a second with sender, queue and receiver on one core. `olaf send` checks the sums."""
    olaf = setting.program("loader/olaf")
    pinned = ["taskset", "-c", "0", olaf, "--json"]
    with Line(olaf) as network:
        # Far below what comes, so that most of it folds; as many frames a second whatever their size.
        network.attach_at("switch", f"{20_000 * 8 * (HEADERS + 8 * size)}bit", "auto", "--max-clusters", "64")
        with Process(network, "server", *pinned, "receive", "--bind", SERVER, "--max-clusters", 64) as receiver, \
             Process(network, "workers", *pinned, "send", SERVER, "--clusters", 9, "--workers", 3, "--lanes", size,
                     "--format", form, "--rate", "unlimited", "--for", "1s" if setting.quick else "3s") as sender:
            found = sender.outcome(60)
            receiver.result()
    elements = (size - 1) * ELEMENTS_A_LANE[form]
    return elements * found["total"]["updates_received"] / found["measured_ns"] * 1e3


def trainings(setting):
    seeds = range(1, setting.repeats(2, TRAININGS) + 1)
    wanted, found = [(arm, seed) for seed in seeds for arm in ARMS], {arm: [] for arm in ARMS}
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        under_way = {pool.submit(learn, setting, arm, seed): arm for arm, seed in wanted}
        try:
            for done, ended in enumerate(concurrent.futures.as_completed(under_way), 1):
                found[under_way[ended]].append(ended.result())
                setting.progress(f"training {done} of {len(wanted)}")
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return found


def run(setting):
    learned = trainings(setting)
    turns = setting.repeats(2, 7)
    speeds = {form: [] for form in ELEMENTS_A_LANE}
    for turn in range(turns):
        for form in speeds:
            speeds[form].append(speed(setting, form, FULL_LANES))
        setting.progress(f"speed {turn + 1} of {turns}")
    rows = [{"arm": arm, "updates": spread([each["updates"] for each in runs]),
             "never": sum(each["updates"] is None for each in runs), "clipped": sum(each["clipped"] for each in runs),
             "frame_bytes": frame_bytes(arm),
             "kilobytes": spread([each["updates"] and each["updates"] * frame_bytes(arm) / 1e3 for each in runs])}
            for arm, runs in learned.items()]
    wide = [each["updates"] for each in learned["i32x2"]]
    for row, runs in zip(rows, learned.values()):
        row["to_wide"] = ratio_of_means([each["updates"] for each in runs], wide)
    return {"effort": f"{len(learned['i32x2'])} trainings of each, {turns} turns of speed", "rows": rows,
            "speed": {form: spread(found) for form, found in speeds.items()},
            "speed_ratio": spread([narrow / wide for wide, narrow in zip(speeds["i32x2"], speeds["i16x4"])])}


def draw(result, directory):
    drawing, axes = figure(2, title="Until the mean episode reached 400 steps; bars: quartiles")
    for axis, key, label in ((axes[0], "updates", "updates of three workers"),
                             (axes[1], "kilobytes", "kB of updates from workers")):
        bars(axis, [""], {row["arm"]: [row[key]] for row in result["rows"]}, label)
    axes[0].legend(frameon=False)
    return [save(drawing, directory, "goodput")]


def of_wide(row):
    """"0.98 (95 %: 0.84–1.13)"."""
    found = row["to_wide"]
    if found is None or row["arm"] == "i32x2":
        return "1" if found else "–"
    return f"{found['ratio']:.2f} (95 %: {found['low']:.2f}–{found['high']:.2f})"


def page(result):
    lines = ["| | updates until the target | mean, of i32x2's | never | elements clipped | a frame, bytes | sent until then, kB |",
             "|---|---|---|---|---|---|---|"]
    lines += [f"| {row['arm']} | {text(row['updates'], 0)} | {of_wide(row)} | {row['never']} | {row['clipped']} | {row['frame_bytes']} | "
              f"{text(row['kilobytes'], 0)} |" for row in result["rows"]]
    table = "\n".join(lines)
    return f"""Three CartPole workers send an update every 30 ms through a queue that lets {DEPARTURES} frames a second out, until the mean
of 20 episodes is {TARGET} steps. 16 bits have the scale that `fitting_scale()` gives for the largest gradient seen, 0.19, with a max_count of
32; *feedback* adds what rounding cut off to the next update. How long a training takes is mostly chance, so what counts are means of many:
the interval in which their ratio lies with 95 % confidence is the bootstrap's. Bytes are of Ethernet frames from the workers; answers carry float32 in all.

![Updates and bytes until the target](evaluation-goodput.png)

{table}

Elements a second through one core, which sends, folds and receives, in frames of 1,500 bytes: i16x4 has {text(result['speed_ratio'], 2)} times
those of i32x2. Nine clusters of three workers send as fast as they can, the queue lets 20,000 frames a second out, and every sum is exact. The
kernel adds lanes and doesn't look at what they hold."""


def takeaway(result):
    rows = {row["arm"]: row for row in result["rows"]}
    return [("elements a second and core, i16x4 : i32x2", "–", text(result["speed_ratio"], 2)),
            ("updates until CartPole has learned, i16x4 : i32x2", "–", of_wide(rows["i16x4"]))]
