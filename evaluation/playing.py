# SPDX-License-Identifier: BSD-2-Clause
"""A trace played through a queue: sent by olaf-replay, counted by olaf-tally, checked against the queue's books."""

from evaluation.processes import Process, drained
from evaluation.topology import SERVER, WORKERS  # noqa: F401

LANES = 32  # 2,048 bits, the checksum lane among them


def frame_bits(lanes):
    """Of an update on the wire: Ethernet, IPv4, UDP, Olaf's header, lanes."""
    return 8 * (14 + 20 + 8 + 48 + 8 * lanes)


FRAME_BITS = frame_bits(LANES)


def write_trace(path, moments):
    """Writes [(time_us, cluster, worker)], in order of time (evaluation/traces/README.md)."""
    with path.open("w", encoding="ascii") as file:
        file.writelines(f"{at:.1f} {cluster} {worker}\n" for at, cluster, worker in moments)
    return path


def read_trace(path):
    """[(time_us, cluster, worker)] of a file."""
    with path.open(encoding="ascii") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return [(float(at), int(cluster), int(worker)) for at, cluster, worker in lines]


def books(network):
    return network.statuses()[0]["counters"]


def play(setting, network, trace, *options, clusters, lanes=LANES, answer=False, patience_s=120):
    """Plays a trace file of so many clusters through the network's only queue. Returns what the sender says (`sent`), what the server got
    (`got`), and what the queue counted meanwhile (`queue`)."""
    before = books(network)
    with Process(network, "server", setting.program("evaluation/olaf-tally"), SERVER,
                 "--clusters", clusters, *(["--answer"] if answer else [])) as server:
        server.ready()
        with Process(network, "workers", setting.program("evaluation/olaf-replay"), trace, "--server", SERVER, "--lanes",
                     lanes, *options) as sender:
            sent = sender.outcome(patience_s)
        after = drained(network)[0]["counters"]
        got = server.result()
    return {"sent": sent, "got": got, "queue": {name: after[name] - before[name] for name in after}}


def summary(run):
    """One run's figures: ratios and percentages of what was sent, ages in ms, each the mean of the clusters'."""
    sent, queue, clusters = run["sent"]["sent"] + run["sent"]["again"], run["queue"], run["got"]["clusters"]
    messages = sum(cluster["messages"] for cluster in clusters)
    updates = sum(cluster["updates"] for cluster in clusters)

    def mean(name):
        return sum(cluster[name] for cluster in clusters) / max(1, len(clusters)) / 1e6

    return {
        "sent": sent,
        "received_percent": 100 * messages / sent,
        "folded_percent": 100 * (updates - messages) / sent,
        "superseded_percent": 100 * queue["updates_superseded"] / sent,
        "lost_percent": 100 * queue["updates_dropped"] / sent,
        "unaccounted": sent - updates - queue["updates_superseded"] - queue["updates_dropped"],
        "heard": sum(cluster["messages"] > 0 for cluster in clusters),
        "average_ms": mean("aom_average_ns"),
        "mean_peak_ms": mean("aom_mean_peak_ns"),
        "highest_peak_ms": max((cluster["aom_highest_peak_ns"] for cluster in clusters), default=0) / 1e6,
        "worst_average_ms": max((cluster["aom_average_ns"] for cluster in clusters), default=0) / 1e6,
        "cluster_averages_ms": {cluster["cluster"]: cluster["aom_average_ns"] / 1e6 for cluster in clusters},
        "cluster_peaks_ms": {cluster["cluster"]: cluster["aom_mean_peak_ns"] / 1e6 for cluster in clusters},
        "folds": folds(clusters),
        "late_mean_us": run["sent"]["late_mean_ns"] / 1e3,
    }


def folds(clusters):
    """Messages by the number of updates in them, of all clusters."""
    found = {}
    for cluster in clusters:
        for updates, messages in cluster["folds"].items():
            found[int(updates)] = found.get(int(updates), 0) + messages
    return found
