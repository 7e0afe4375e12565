# SPDX-License-Identifier: BSD-2-Clause
"""A worker, a host with a queue and a server, wired in one of the ways that Olaf can stand.

    local       worker -- in[host]                 the server is a process on the host
    bridged     worker -- in[host]out -- server    in and out are ports of one bridge
    routed      worker -- in[host]out -- server    the host is the router
    upstream    worker -- in[host]out -- server    workers talk to the host

Neighbours are asked for and learnt, as on a real network.
"""
import json
import time

from network import Netns, run
from server import Server
from withheld import Withheld

WAYS = ("local", "bridged", "routed", "upstream")
WORKER_MAC, IN_MAC, OUT_MAC, SERVER_MAC = (bytes([2, 0, 0, 0, 0, n]) for n in (10, 1, 2, 11))
NET = {4: ("10.0.0.{}", "10.0.1.{}", 24), 6: ("fd00::{}", "fd00:0:0:1::{}", 64)}


def text(mac):
    return ":".join(f"{byte:02x}" for byte in mac)


class Bed:
    def __init__(self, olaf, way, family):
        self.olaf_binary, self.way, self.family = olaf, way, family
        self.strangers = False  # whether anybody has sent what he shouldn't
        self.job = None  # words of `olaf job set in`, of the job that every queue here has
        self.times_set = 0  # that job
        self.sums = None  # its workers
        self.withheld = Withheld()
        self.worker, self.host = Netns("worker"), Netns("host")
        self.far = None if way == "local" else Netns("server")
        self.near, self.far_net, self.bits = NET[family]
        self._wire()
        device = None if way == "local" else "eth0"
        self.server = Server(self.far or self.host, family, self.server_address(), device)

    def close(self):
        if self.sums:
            self.sums.close()
        self.server.close()
        self.olaf("detach", "in", "--force", check=False)
        for netns in filter(None, (self.worker, self.host, self.far)):
            netns.close()
        self.withheld.close()

    def _wire(self):
        wide = "numtxqueues 2 numrxqueues 2"
        self.host.ip(f"link add name in address {text(IN_MAC)} {wide} type veth peer name eth0 "
                     f"address {text(WORKER_MAC)} {wide} netns {self.worker.name}")
        ends = [(self.worker, "eth0"), (self.host, "in")]
        if self.far:
            self.host.ip(f"link add name out address {text(OUT_MAC)} type veth peer name eth0 "
                         f"address {text(SERVER_MAC)} netns {self.far.name}")
            ends += [(self.host, "out"), (self.far, "eth0")]
        # A device that comes up looks whether its peer takes redirected frames.
        for netns, device in ends:
            netns.offloads(device, gro=True, tx=False)
        for netns, device in ends:
            netns.ip(f"link set {device} up")
        if self.way == "bridged":
            self.host.ip("link add bridge type bridge mcast_snooping 0\nlink set bridge up\n"
                         "link set in master bridge\nlink set out master bridge")
        self.address()

    def address(self):
        """What a link that went down has lost of them comes back."""
        nodad = "nodad" if self.family == 6 else ""
        if self.way in ("local", "bridged"):
            other = self.host if self.way == "local" else self.far
            device = "in" if self.way == "local" else "eth0"
            self.worker.ip(f"address replace {self.near.format(1)}/{self.bits} dev eth0 {nodad}")
            other.ip(f"address replace {self.near.format(2)}/{self.bits} dev {device} {nodad}")
            return
        self.host.sysctl("ipv4/ip_forward", 1)
        self.host.sysctl("ipv6/conf/all/forwarding", 1)
        for netns, device, net, number in ((self.worker, "eth0", self.near, 1),
                                           (self.host, "in", self.near, 254),
                                           (self.host, "out", self.far_net, 254),
                                           (self.far, "eth0", self.far_net, 2)):
            netns.ip(f"address replace {net.format(number)}/{self.bits} dev {device} {nodad}")
        for netns, net in ((self.worker, self.near), (self.far, self.far_net)):
            netns.ip(f"route replace default via {net.format(254)} dev eth0")

    def server_address(self):
        return (self.near if self.way in ("local", "bridged") else self.far_net).format(2)

    def target(self):
        """Where workers send their updates."""
        address = self.near.format(254) if self.way == "upstream" else self.server_address()
        return (address, 6523)

    def host_address(self):
        """Of the host itself, for the workers of its job; a bridge has none."""
        return self.near.format(2 if self.way == "local" else 254)

    def path(self):
        """The same for a frame."""
        to_host = self.way in ("routed", "upstream", "local")
        return {"source_mac": WORKER_MAC, "target_mac": IN_MAC if to_host else SERVER_MAC,
                "source": self.near.format(1), "target": self.target()[0]}

    def foreign_address(self):
        return "203.0.113.9" if self.family == 4 else "2001:db8::9"

    def spoofed_address(self, draw):
        mine = self.near.format(draw.choice((1, 7, 254)))
        return draw.choice([mine, self.server_address(), self.foreign_address()])

    def worker_socket(self):
        return self.worker.udp(self.family, self.near.format(1))

    def delivery(self):
        if self.way == "local":
            return ["--local"]
        if self.way == "upstream":
            return ["--upstream", self.server_address()]
        return ["--forward", "out"]

    def command(self, *words):
        return [self.olaf_binary, "--netns", self.host.name, *words]

    def olaf(self, *words, check=True):
        return run(self.command(*words), check=check)

    def status(self):
        return json.loads(self.olaf("status", "in", "--json").stdout)

    def attach(self, options):
        if self.way in ("routed", "upstream"):
            self.await_server()
        self.olaf("attach", "in", *self.delivery(), *options)
        self.set_job()

    def set_job(self):
        if self.job:
            self.times_set += 1
            self.olaf("job", "set", "in", *self.job)

    def await_server(self):
        """Until the host knows its way to the server, as it would on a host that runs. A kernel
        trusts a neighbour that it has just heard for up to 45 s, and doubts it for eight more."""
        ping = ["ip", "netns", "exec", self.host.name, "ping", "-c", "1", "-W", "1",
                self.server_address()]
        end = time.monotonic() + 75
        while run(ping, check=False).returncode != 0:
            if time.monotonic() > end:
                raise RuntimeError("the server doesn't answer")
