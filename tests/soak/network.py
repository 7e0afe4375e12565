# SPDX-License-Identifier: BSD-2-Clause
"""Network namespaces, and commands that run in them."""
import contextlib
import ctypes
import os
import socket
import subprocess

CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def run(command, text=None, check=True):
    """Runs a command; says what failed and why unless it may fail."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
    return done


def _enter(fd):
    if _libc.setns(fd, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Netns:
    """A network namespace for as long as the object is open."""

    def __init__(self, role):
        self.name = f"olaf-soak-{os.getpid()}-{role}"
        run(["ip", "netns", "add", self.name])
        # Quiet links: no duplicate address detection, no router solicitations.
        for key in ("accept_dad", "router_solicitations", "accept_ra"):
            self.sysctl(f"ipv6/conf/default/{key}", 0)
        self.ip("link set lo up")

    def close(self):
        run(["ip", "netns", "delete", self.name], check=False)

    @contextlib.contextmanager
    def inside(self):
        """This thread is in the namespace; a socket stays in the one it was made in."""
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        try:
            _enter(there)
            yield
        finally:
            _enter(home)
            os.close(there)
            os.close(home)

    def ip(self, lines, check=True):
        return run(["ip", "-n", self.name, "-batch", "-"], lines + "\n", check)

    def offloads(self, device, **features):
        """GRO on means that frames may be redirected into the device."""
        words = [word for name, on in features.items() for word in (name, "on" if on else "off")]
        run(["ip", "netns", "exec", self.name, "ethtool", "-K", device, *words])

    def sysctl(self, key, value):
        with self.inside(), open(f"/proc/sys/net/{key}", "w", encoding="ascii") as file:
            file.write(str(value))

    def udp(self, family, address, port=0):
        with self.inside():
            made = socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6,
                                 socket.SOCK_DGRAM)
        made.bind((address, port))
        return made

    def packets(self, device):
        """Whole frames of a device: what it sends and receives."""
        with self.inside():
            made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)  # deaf until it is bound
            made.bind((device, 3))
        return made
