# SPDX-License-Identifier: BSD-2-Clause
"""Many workers in one process, each with a socket of its own:

    senders.py SERVER FIRST LAST WORKERS ELEMENTS INTERVAL_MS SEED off|urgent|fair|pause [SECONDS]

Clusters FIRST to LAST of so many workers each have an update once an interval, give or take 10 %, and
send it if transmission control lets them. Prints a line when all have weights, starts at a
line on stdin, and prints one object of JSON on SIGTERM."""

import heapq
import json
import random
import select
import signal
import sys
import time

import olaf


def control(name, seconds="0"):
    """Transmission control of that name, or none."""
    kinds = {"urgent": olaf.TransmissionControl.urgent, "fair": olaf.TransmissionControl.fair,
             "pause": olaf.PauseAfterAck}
    return None if name == "off" else kinds[name](float(seconds))


class Stop(Exception):
    pass


def stop(*_):
    raise Stop


def send(workers, gradient, interval, rng):
    """Until Stop."""
    poller = select.epoll()
    by_fd = {}
    for worker in workers:
        by_fd[worker.fileno()] = worker
        poller.register(worker.fileno(), select.EPOLLIN)
    # Start at random points of the interval.
    now = time.monotonic()
    due = [(now + interval * rng.random(), index) for index in range(len(workers))]
    heapq.heapify(due)
    while True:
        for fd, _ in poller.poll(max(0, due[0][0] - time.monotonic())):
            by_fd[fd].poll()
        now = time.monotonic()
        while due[0][0] <= now:
            at, index = due[0]
            workers[index].push(gradient)
            # A process that was held up doesn't catch up with a burst.
            heapq.heapreplace(due, (max(at + interval * rng.uniform(0.9, 1.1), now), index))


def main(server, first, last, count, elements, interval_ms, seed, *transmission):
    rng = random.Random(f"{seed} {first}")
    workers = [olaf.Worker(server, cluster, worker, int(elements),
                           transmission=control(*transmission), random=rng.getrandbits(64))
               for cluster in range(int(first), int(last) + 1) for worker in range(int(count))]
    for worker in workers:
        worker.join()
    print("joined", flush=True)
    sys.stdin.readline()
    try:
        signal.signal(signal.SIGTERM, stop)
        send(workers, [0.0] * int(elements), float(interval_ms) / 1e3, rng)
    except Stop:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    reports = [worker.report for worker in workers]
    print(json.dumps({
        "sent": sum(worker.stats.updates for worker in workers),
        "unsent": sum(worker.stats.unsent for worker in workers),
        "held": sum(worker.stats.held for worker in workers),
        "stamped": sum(worker.feedback.active_clusters > 0 for worker in workers),
        "congested": sum(worker.feedback.congested for worker in workers),
        "active_clusters": max(worker.feedback.active_clusters for worker in workers),
        "round_trip_ms": sum(each.smoothed_round_trip_ns for each in reports) / len(reports) / 1e6,
        "acks_lost": sum(each.acks_lost for each in reports),
    }))


if __name__ == "__main__":
    main(*sys.argv[1:])
