# SPDX-License-Identifier: BSD-2-Clause
"""A parameter server that changes nothing and measures: server.py ADDR CLUSTERS ELEMENTS. Prints a
line when it listens, takes the ages on SIGUSR1, and prints one object of JSON on SIGTERM."""

import json
import signal
import sys

import olaf


def main(address, clusters, elements):
    # Every worker of a cluster hears of each of its deliveries; each ACK passes the queues.
    server = olaf.ParameterServer(address, acknowledge="known")
    for cluster in range(clusters):
        server.add_cluster(cluster, [0.0] * elements, "sgd", learning_rate=0.0)
    ages = []

    def take_ages(*_):
        ages[:] = [server.cluster(cluster).aom_average_ns / 1e6 for cluster in range(clusters)]

    signal.signal(signal.SIGUSR1, take_ages)
    signal.signal(signal.SIGTERM, lambda *_: server.stop())
    print("listening", flush=True)
    server.serve()
    states = [server.cluster(cluster) for cluster in range(clusters)]
    print(json.dumps({
        "aom_ms": ages,
        "messages": [state.messages for state in states],
        "folded": [state.folded for state in states],
        "acks_unsent": server.stats.acks_unsent,
        "rejected": server.stats.rejected,
    }))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
