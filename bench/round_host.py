# SPDX-License-Identifier: BSD-2-Clause
"""What the benchmarks of rounds stand on: workers in a namespace, one veth away from a node in another."""

import json
import pathlib
import subprocess
import sys

JOB = 7
WORKERS, NODE = "10.0.0.1", "10.0.0.2"
# The largest random number that BPF's classic `ld rand` gives, and where it is read from.
_RANDOM_END, _RANDOM_AT = 1 << 32, 0x100000000 - 0x1000 + 56
_TC_ACT_UNSPEC, _TC_ACT_SHOT = 0xffffffff, 2


def lanes_of(mtu, shape):
    """Lanes of the longest frame over IPv4. A node adds 576 lanes of floats at most."""
    lanes = (mtu - 20 - 8 - 48) // 8
    return min(lanes, 576) if shape == "f32" else lanes


class RoundHost:
    """workers -- node, in namespaces that go with this object. The queue is attached, and has no job yet."""

    def __init__(self, build, mtu, slots, shape="i32x2"):
        self.build, self.mtu, self.shape = pathlib.Path(build), mtu, shape
        stem = f"olaf-bench-{subprocess.os.getpid()}"
        self.workers, self.node = f"{stem}-workers", f"{stem}-node"
        for name in (self.workers, self.node):
            self.ip("netns", "add", name)
            self.ip("-n", name, "link", "set", "lo", "up")
        self.ip("-n", self.node, "link", "add", "in", "mtu", str(mtu), "type", "veth", "peer", "name", "eth0", "mtu",
                str(mtu), "netns", self.workers)
        for place, end, address in ((self.workers, "eth0", WORKERS), (self.node, "in", NODE)):
            # A veth takes frames that XDP sends once GRO was asked for, and ethtool asks only for a change.
            self.inside(place, "ethtool", "-K", end, "gro", "off")
            self.inside(place, "ethtool", "-K", end, "gro", "on")
            self.ip("-n", place, "address", "add", f"{address}/24", "dev", end)
            self.ip("-n", place, "link", "set", end, "up")
        # Floats take twice the room while they are added.
        room = ["--max-lanes", str(2 * lanes_of(mtu, shape))] if shape == "f32" else []
        self.ask("attach", "in", "--local", "--round-slots", str(slots), *room)

    def ask(self, *words):
        """What a command of olaf's says, inside the node."""
        done = subprocess.run([self.build / "loader" / "olaf", "--netns", self.node, *words], text=True,
                              capture_output=True, check=False)
        if done.returncode:
            sys.exit(f"error: olaf {' '.join(words)}: {done.stderr}")
        return done.stdout

    def begin(self, job, children, pool):
        self.ask("job", "set", "in", str(job), "--children", str(children), "--lanes",
                 str(lanes_of(self.mtu, self.shape)), "--pool", str(pool), "--format", self.shape)

    def end(self):
        """Removes all jobs; returns what `olaf status` said of them."""
        jobs = json.loads(self.ask("status", "in", "--json"))["jobs"]
        for job in jobs:
            self.ask("job", "remove", "in", str(job["job"]))
        return jobs

    def lose(self, percent):
        """Loses so many of the frames that workers send, at random, for as long as the host is there."""
        least = round(percent / 100 * _RANDOM_END)
        program = [f"32 0 0 {_RANDOM_AT}", f"53 0 1 {least}", f"6 0 0 {_TC_ACT_UNSPEC}", f"6 0 0 {_TC_ACT_SHOT}"]
        self.inside(self.workers, "tc", "qdisc", "add", "dev", "eth0", "clsact")
        self.inside(self.workers, "tc", "filter", "add", "dev", "eth0", "egress", "bpf", "direct-action", "bytecode",
                    ",".join([str(len(program)), *program]))

    def start(self, script, setup, workers, before=()):
        """So many processes of that script, each of which is told the setup and its rank."""
        told = {"workers": workers, "node": NODE, "job": JOB, "mtu": self.mtu,
                "module": str(self.build / "python")} | setup
        return [subprocess.Popen(["ip", "netns", "exec", self.workers, *before, "/usr/bin/python3", script,
                                  json.dumps(told | {"rank": rank})],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                for rank in range(workers)]

    @staticmethod
    def ip(*words):
        subprocess.run(["ip", *words], check=True)

    @staticmethod
    def inside(name, *words):
        subprocess.run(["ip", "netns", "exec", name, *words], check=True, stdout=subprocess.DEVNULL)

    def close(self):
        subprocess.run([self.build / "loader" / "olaf", "--netns", self.node, "detach", "in", "--force"], check=False,
                       stdout=subprocess.DEVNULL)
        for name in (self.workers, self.node):
            subprocess.run(["ip", "netns", "delete", name], check=False)
