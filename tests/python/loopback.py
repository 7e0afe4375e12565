# SPDX-License-Identifier: BSD-2-Clause
"""What is on loopback: a parameter server and its workers, in one thread, where nothing happens unless
a test calls it and no call waits longer than SOON; and the model of a job's node."""

import os
import subprocess
import threading
import unittest

import olaf

NODE = os.path.join(os.environ["OLAF_BUILD"], "tests", "unit", "olaf_round_server")
JOB = 5  # the node's

SOON = 60.0  # s, for what must happen: it costs nothing while things work
NEVER = 0.001  # s, for what must not; loopback delivers before send() returns


class Loopback(unittest.TestCase):
    def server(self, weights=(1.0, 2.0, 3.0), rule="sgd", cluster=3, **options):
        server = olaf.ParameterServer("127.0.0.1:0", **options)
        server.add_cluster(cluster, weights, rule, learning_rate=0.5)
        return server

    def worker(self, server, worker=9, cluster=3, elements=3, **options):
        return olaf.Worker(server.address, cluster, worker, elements, **options)

    def handle(self, server, messages):
        """Lets the server handle so many messages."""
        while messages > 0:
            handled = server.receive(SOON)
            self.assertGreater(handled, 0, "a message didn't arrive")
            messages -= handled


class Node:
    """A node for so many workers of job JOB, or of so many jobs from there on: its address.
    The ranks that are absent join later."""

    def __init__(self, workers, jobs=1, *absent):
        self.process = subprocess.Popen([NODE, *map(str, (workers, jobs, *absent))],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self.process.stdout.readline().strip()

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def in_threads(number, work):
    """Does work(0), work(1), ... in a thread each; what the first one raised comes out."""
    failures = []

    def run(rank):
        try:
            work(rank)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
