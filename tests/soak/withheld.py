# SPDX-License-Identifier: BSD-2-Clause
"""Deaths that the kernel may keep from the loss programs.

Losses are counted by tracing programs. The kernels of some virtual machines run none while a thread
of process 1 is current, and a softirq may interrupt any thread. perf counts there all the same, so
the books know whether a loss can be missing. Where perf can't count either, none is excused.
"""
import ctypes
import fcntl
import os
import re
import struct

EVENTS = "/sys/kernel/tracing/events"
PERF_EVENT_OPEN = 298 if os.uname().machine == "x86_64" else 241
TRACEPOINT = 2
INHERIT = 1 << 1
ATTR_BYTES = 112
SET_FILTER = 0x40082406
_libc = ctypes.CDLL(None, use_errno=True)

# Reasons of frees that are no loss: a verdict of XDP's, a packet socket's copy, a token's end.
ORDINARY = ("XDP", "PACKET_SOCK_ERROR", "QUEUE_PURGE", "TC_INGRESS")


def _losses_among_frees():
    """A filter on skb/kfree_skb. Native XDP on veth frees each skb that it has copied, too."""
    with open(f"{EVENTS}/skb/kfree_skb/format", encoding="ascii") as file:
        reasons = dict(re.findall(r'\{ (\d+), "(\w+)" \}', file.read()))
    chosen = [f"reason != {number}" for number, name in reasons.items() if name in ORDINARY]
    with open("/proc/kallsyms", encoding="ascii") as file:
        places = sorted((int(address, 16), name) for address, _, name, *_ in map(str.split, file))
    for (start, name), (end, _) in zip(places, places[1:]):
        if name == "veth_xdp_rcv_skb":
            chosen.append(f"(location < {start:#x} || location >= {end:#x})")
    return " && ".join(chosen)


# Event, and those of it that may be a loss of ours.
WATCHED = (("xdp/xdp_redirect_err", None), ("xdp/xdp_devmap_xmit", "drops > 0"),
           ("xdp/xdp_exception", None), ("skb/kfree_skb", _losses_among_frees()))


def _counter(task, event, chosen):
    """A file that tells how often the event came in this thread; none if it has ended."""
    with open(f"{EVENTS}/{event}/id", encoding="ascii") as file:
        number = int(file.read())
    attr = struct.pack("<IIQQQQQ", TRACEPOINT, ATTR_BYTES, number, 0, 0, 0, INHERIT)
    fd = _libc.syscall(PERF_EVENT_OPEN, ctypes.create_string_buffer(attr, ATTR_BYTES), task, -1, -1,
                       0)
    if fd < 0:
        return None
    if chosen:
        fcntl.ioctl(fd, SET_FILTER, chosen.encode() + b"\0")
    return fd


class Withheld:
    """Counts from the moment that it is made."""

    def __init__(self):
        self._counters = [_counter(int(task), event, losses)
                          for event, losses in WATCHED for task in os.listdir("/proc/1/task")]
        self._counters = [fd for fd in self._counters if fd is not None]
        self._known = 0

    def close(self):
        for fd in self._counters:
            os.close(fd)

    def deaths(self):
        """How many came since the last excuse."""
        return self._all() - self._known

    def excuse(self):
        self._known = self._all()

    def _all(self):
        return sum(int.from_bytes(os.read(fd, 8), "little") for fd in self._counters)
