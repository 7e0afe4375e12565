# SPDX-License-Identifier: BSD-2-Clause
"""Ten clusters of ten workers, half of them fast and half slow, through one or three queues; measured at the server."""

import pathlib
import signal
import time

from evaluation.processes import drained, python
from evaluation.spread import jain
from evaluation.topology import SERVER, Topology

HERE = pathlib.Path(__file__).resolve().parent
CLUSTERS, WORKERS, ELEMENTS = 10, 10, 228  # frames of 1,010 bytes
HALF = CLUSTERS // 2
# What the queue is, and what the workers do.
ARMS = {"fifo": ("fifo", "off"), "olaf": ("olaf", "off"), "urgent": ("olaf", "urgent"), "fair": ("olaf", "fair"),
        "pause": ("olaf", "pause")}


def measure(setting, arm, case, seed):
    """One line. case: several_hops, places and rates by the switch's number, fast_ms, slow_ms, seconds, and
    threshold_s and pause_s of transmission control."""
    policy, control = ARMS[arm]
    transmission = [control] if control == "off" else [control, case["pause_s" if control == "pause" else "threshold_s"]]
    build = setting.build

    def senders(network, group, first, last):
        return python(network, group, build, HERE / "senders.py", SERVER, first, last, WORKERS, ELEMENTS,
                      case[f"{group}_ms"], seed, *transmission)

    with Topology(setting.program("loader/olaf"), case["several_hops"]) as network:
        network.attach(policy, case["rates"], case["places"])
        with python(network, "server", build, HERE / "server.py", SERVER, CLUSTERS, ELEMENTS) as server:
            server.ready()
            with senders(network, "fast", 0, HALF - 1) as fast, senders(network, "slow", HALF, CLUSTERS - 1) as slow:
                for group in (fast, slow):
                    group.ready()
                for group in (fast, slow):
                    group.start()
                time.sleep(case["seconds"])  # what is measured is time
                server.process.send_signal(signal.SIGUSR1)  # what drains later isn't under load
                sent = [fast.result(), slow.result()]
            counters = [status["counters"] for status in drained(network)]
            found = server.result()
        network.detach()
    return summary(found, sent, counters)


def summary(server, sent, counters):
    ages = server["aom_ms"]
    total = {key: sent[0][key] + sent[1][key] for key in ("sent", "unsent", "held")}
    lost = sum(each["updates_dropped"] for each in counters)
    superseded = sum(each["updates_superseded"] for each in counters)
    return {
        "lost_percent": 100 * lost / total["sent"],
        "held_percent": 100 * total["held"] / (total["held"] + total["sent"]),
        "fast_ms": sum(ages[:HALF]) / HALF,
        "slow_ms": sum(ages[HALF:]) / HALF,
        "average_ms": sum(ages) / CLUSTERS,
        "fairness": jain(ages),
        # The queues' own books: nothing may vanish elsewhere.
        "unaccounted": total["sent"] - total["unsent"] - lost - superseded - sum(server["folded"]),
        "ages_ms": ages,
    }
