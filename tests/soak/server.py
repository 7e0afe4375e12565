# SPDX-License-Identifier: BSD-2-Clause
"""A parameter server that only counts: what its socket reads, and what its wire carries."""
import multiprocessing
import os
import select
import signal
import socket

import wire

ROOM = 256 << 20
SO_RCVBUFFORCE = 33
PACKET_OUTGOING = 4
PACKET_STATISTICS = 6


class Server:
    """A process. `read` is exact where the server is on the queue's own host. On another one what
    its device receives is: the queue can't know what becomes of a frame that has left the host."""

    def __init__(self, netns, family, address, device=None):
        self.read = multiprocessing.RawValue("Q", 0)
        self.carried = multiprocessing.RawValue("Q", 0)
        self.spoilt = multiprocessing.RawValue("Q", 0)
        self._socket = netns.udp(family, address, wire.PORT)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
        self._wire = netns.packets(device) if device else None
        if self._wire:
            self._wire.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
        self._process = multiprocessing.Process(target=self._serve, args=(netns,), daemon=True)
        self._process.start()

    def close(self):
        self._process.kill()
        self._process.join()
        self._socket.close()
        if self._wire:
            self._wire.close()

    def limit_room(self, room=ROOM):
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, room)

    def received(self):
        return self.carried.value if self._wire else self.read.value

    def dropped_by_harness(self):
        """Frames that the packet socket had no room for: the books say nothing then."""
        if not self._wire:
            return 0
        return int.from_bytes(self._wire.getsockopt(263, PACKET_STATISTICS, 8)[4:], "little")

    def _serve(self, netns):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.nice(-5)
        with netns.inside():
            self._count_for_ever()

    def _count_for_ever(self):
        sources = [self._socket] + ([self._wire] if self._wire else [])
        for source in sources:
            source.setblocking(False)
        while True:
            ready, _, _ = select.select(sources, [], [])
            for source in ready:
                for _ in range(256):
                    try:
                        data, sender = source.recvfrom(65536)
                    except OSError:
                        break
                    self._count(source, data, sender)

    def _count(self, source, data, sender):
        if source is self._wire:
            if sender[2] == PACKET_OUTGOING:
                return
            data = wire.update_in(data)
        try:
            found = wire.parse(data) if data else None
        except ValueError:
            self.spoilt.value += 1
            found = (0, wire.HEADER.unpack_from(data)[8])
        if found:
            counter = self.carried if source is self._wire else self.read
            counter.value += found[1]
