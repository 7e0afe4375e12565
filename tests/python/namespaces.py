# SPDX-License-Identifier: BSD-2-Clause
"""Network namespaces for tests: workers in one, a host with a queue for rounds in another. Needs root."""

import ctypes
import os
import subprocess
import unittest

OLAF = os.path.join(os.environ["OLAF_BUILD"], "loader", "olaf")
NODE, WORKERS = "10.65.24.2", "10.65.24.1"
CLONE_NEWNET = 0x40000000


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


class Namespace:
    """A named network namespace: the thread enters it; sockets made inside stay there."""

    libc = ctypes.CDLL(None, use_errno=True)

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        self.enter(there)

    def __exit__(self, *_):
        self.enter(self.before)

    def enter(self, namespace):
        if self.libc.setns(namespace, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "cannot enter a namespace")
        os.close(namespace)


class RoundsHost(unittest.TestCase):
    """Workers in `workers`, at eth0; the host in `host`, whose device `in` has a queue for rounds."""

    SLOTS = 64
    MTU = 1500

    def space(self, name):
        """A namespace, for the time of the test."""
        full = f"olaf{os.getpid()}-{name}"
        run("ip", "netns", "add", full)
        self.addCleanup(run, "ip", "netns", "delete", full)
        run("ip", "-n", full, "link", "set", "lo", "up")
        return full

    def olaf(self, *words):
        return run(OLAF, "--netns", self.host, *words)

    def setUp(self):
        self.workers, self.host = self.space("workers"), self.space("host")
        run("ip", "link", "add", "eth0", "netns", self.workers, "type", "veth", "peer", "name", "in",
            "netns", self.host)
        ends = ((self.workers, "eth0", WORKERS), (self.host, "in", NODE))
        # Native XDP redirects into a veth need NAPI at the far end. GRO brings it, but only where the
        # device comes up after GRO was asked for.
        for space, device, _ in ends:
            run("nsenter", f"--net=/run/netns/{space}", "--", "ethtool", "-K", device, "gro", "on")
        for space, device, address in ends:
            run("ip", "-n", space, "address", "add", f"{address}/24", "dev", device)
            run("ip", "-n", space, "link", "set", device, "mtu", str(self.MTU), "up")
        self.olaf("attach", "in", "--local", "--round-slots", str(self.SLOTS))
        self.addCleanup(self.olaf, "detach", "in", "--force")
