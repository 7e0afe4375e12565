# SPDX-License-Identifier: BSD-2-Clause
"""A parameter server and its workers on loopback, in one thread: nothing happens unless a test
calls it, and no call waits longer than SOON."""

import unittest

import olaf

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
