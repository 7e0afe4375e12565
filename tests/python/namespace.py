# SPDX-License-Identifier: BSD-2-Clause
"""A named network namespace, for the thread that enters it."""

import ctypes
import os

CLONE_NEWNET = 0x40000000


class Namespace:
    """Sockets made inside are in that namespace, and stay there."""

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
