# SPDX-License-Identifier: BSD-2-Clause
"""Workers, switches and a server as network namespaces of our own, with veth links."""

import itertools
import json
import os
import subprocess

SERVER = "10.65.23.2"
WORKERS = "10.65.23.1"
SENDERS = {"fast": "10.65.23.11", "slow": "10.65.23.12"}
modes = set()  # of XDP, of the queues that were attached since it was cleared
numbers = itertools.count()  # of the networks of this process, which may stand side by side


def run(*command):
    """Runs a command; its output, or a RuntimeError that holds what it said."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


class Network:
    """A context: built on entering, by _build(), and gone on leaving. A switch is a bridge between `in` and
    `out`, with the queue on `in`."""

    def __init__(self, olaf, mtu=1500):
        self.olaf = olaf
        self.mtu = mtu
        self.prefix = f"olaf{os.getpid()}-{next(numbers)}-"
        self.spaces = []
        self.attached = []  # namespaces with a queue on `in`

    def __enter__(self):
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for space in self.attached:
            subprocess.run([self.olaf, "--netns", space, "detach", "in", "--force"],
                           capture_output=True)
        for space in self.spaces:
            if os.path.exists(f"/run/netns/{space}"):
                run("ip", "netns", "delete", space)
        self.attached, self.spaces = [], []

    def _space(self, name):
        # Noted before it is there: Ctrl-C ends `ip` too, which may have made it by then.
        self.spaces.append(self.prefix + name)
        run("ip", "netns", "add", self.prefix + name)
        self._ip(name, "link", "set", "lo", "up")

    def _ip(self, name, *arguments):
        run("ip", "-n", self.prefix + name, *arguments)

    def _tc(self, name, *arguments):
        run("tc", "-n", self.prefix + name, *arguments)

    def _link(self, left, left_device, right, right_device):
        ends = ((left, left_device), (right, right_device))
        run("ip", "link", "add", left_device, "netns", self.prefix + left, "mtu", str(self.mtu), "type", "veth",
            "peer", "name", right_device, "netns", self.prefix + right, "mtu", str(self.mtu))
        # Native XDP redirects into a veth need NAPI at the far end. GRO brings it, but only where the
        # device comes up after GRO was asked for: so first both ends ask, and then both come up.
        for name, device in ends:
            run(*self.inside(name), "ethtool", "-K", device, "gro", "on")
        for name, device in ends:
            self._ip(name, "link", "set", device, "up")

    def _bridge(self, name, *devices):
        self._ip(name, "link", "add", "bridge", "mtu", str(self.mtu), "type", "bridge")
        for device in devices:
            self._ip(name, "link", "set", device, "master", "bridge")
        self._ip(name, "link", "set", "bridge", "up")

    def inside(self, name):
        """What to put in front of a command to run it there. `ip netns exec` has no bpffs."""
        return ["nsenter", f"--net=/run/netns/{self.prefix + name}", "--"]

    def attach_at(self, name, rate, places, *options):
        """A queue at that switch. rate: as `--rate` takes it, None: what attach chooses; places: a number, or "auto"."""
        pace = ["--rate", rate] if rate else []
        self._attach(name, "--forward", "out", *pace, "--queue", places, *options)

    def attach_local(self, name, *options):
        """A queue, or a node that adds, for what runs on that host itself."""
        self._attach(name, "--local", *options)

    def _attach(self, name, *options):
        space = self.prefix + name
        self.attached.append(space)
        run(self.olaf, "--netns", space, "attach", "in", *map(str, options))
        mode = self.statuses()[-1]["mode"]
        if mode != "native":
            raise RuntimeError(f"the queue on 'in' at {name} is attached in mode {mode}, and what is measured here is native XDP")
        modes.add(mode)

    def cluster(self, name, cluster, *options):
        """Sets a cluster of the queue there."""
        run(self.olaf, "--netns", self.prefix + name, "cluster", "set", "in", str(cluster), *map(str, options))

    def job(self, name, job, *options):
        """Sets a job of the node there."""
        run(self.olaf, "--netns", self.prefix + name, "job", "set", "in", str(job), *map(str, options))

    def address(self, name, address):
        """One more address of a host's eth0."""
        self._ip(name, "address", "add", f"{address}/24", "dev", "eth0")

    def statuses(self, *options):
        """What each queue says, in the order they were attached."""
        return [json.loads(run(self.olaf, "--netns", space, "--json", "status", "in", *options))
                for space in self.attached]

    def detach(self):
        while self.attached:
            run(self.olaf, "--netns", self.attached[-1], "detach", "in")
            self.attached.pop()


class Line(Network):
    """workers -- in[switch]out -- server: one bottleneck."""

    def _build(self):
        for name in ("workers", "switch", "server"):
            self._space(name)
        self._link("workers", "eth0", "switch", "in")
        self._link("switch", "out", "server", "eth0")
        self._bridge("switch", "in", "out")
        self._ip("workers", "address", "add", f"{WORKERS}/24", "dev", "eth0")
        self._ip("server", "address", "add", f"{SERVER}/24", "dev", "eth0")


class Topology(Network):
    """The paper's figure 9:

        fast -- [switch 1] --\\
                              merge -- switch 3 -- server
        slow -- [switch 2] --/

    `merge` is a bare bridge. Without switches 1 and 2 there is one bottleneck only."""

    def __init__(self, olaf, several_hops):
        super().__init__(olaf)
        self.several_hops = several_hops

    def _build(self):
        for name in ("fast", "slow", "merge", "switch3", "server"):
            self._space(name)
        for group, port in (("fast", "1"), ("slow", "2")):
            if self.several_hops:
                self._space(f"switch{port}")
                self._link(group, "eth0", f"switch{port}", "in")
                self._link(f"switch{port}", "out", "merge", group)
                self._bridge(f"switch{port}", "in", "out")
            else:
                self._link(group, "eth0", "merge", group)
            self._ip(group, "address", "add", f"{SENDERS[group]}/24", "dev", "eth0")
        self._link("merge", "out", "switch3", "in")
        self._link("switch3", "out", "server", "eth0")
        self._bridge("merge", "fast", "slow", "out")
        self._bridge("switch3", "in", "out")
        self._ip("server", "address", "add", f"{SERVER}/24", "dev", "eth0")

    def attach(self, policy, rate, places):
        """A queue for each switch: `places` by its number; `rate` is of each, or by its number too."""
        for number, queue in places.items():
            self.attach_at(f"switch{number}", rate[number] if isinstance(rate, dict) else rate, queue, "--policy",
                           policy, "--max-clusters", "16")
