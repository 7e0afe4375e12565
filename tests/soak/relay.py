# SPDX-License-Identifier: BSD-2-Clause
"""A bad wire between two devices: it loses frames, doubles them, swaps them, and flips bits in them."""
import multiprocessing
import random
import select
import signal

import wire

LONGEST = 1 << 16
LANE = 8  # bytes


def flip(frame, draw):
    """Flips one bit. In the lanes a bit of the data becomes 1, or one of the last lane 0, and never a highest
    one. So two flips in one chunk, in different frames, never make up for each other. No checksum lane can show
    flips that do (docs/rounds.md, "Damage")."""
    frame = bytearray(frame)
    lanes_at = 14 + (20 if frame[14] >> 4 == 4 else 40) + 8 + wire.HEADER.size  # Ethernet, IP, UDP
    while True:
        bit = draw.randrange(8 * len(frame))
        at, mask = bit // 8, 1 << bit % 8
        is_last = at >= len(frame) - LANE
        is_highest = (at - lanes_at) % LANE == LANE - 1 and mask == 0x80
        if at < lanes_at or (not is_highest and bool(frame[at] & mask) == is_last):
            frame[at] ^= mask
            return frame



class Relay:
    """A process that carries frames both ways between two devices of a namespace. Each frame is lost,
    doubled, held until the next frame has passed, or loses one bit to a flip, each with a chance that
    can be set at any time. A flip is behind the Ethernet CRC, as one in a switch's memory is."""

    FAULTS = ("lost", "doubled", "swapped", "flipped")

    def __init__(self, netns, left, right, seed):
        self._ends = [netns.packets(left), netns.packets(right)]
        self._chances = {fault: multiprocessing.RawValue("d", 0) for fault in self.FAULTS}
        self._done = {fault: multiprocessing.RawValue("Q", 0) for fault in self.FAULTS}
        self._process = multiprocessing.Process(target=self._carry, args=(random.Random(seed),), daemon=True)
        self._process.start()

    def set(self, **chances):
        """Chances between 0 and 1; what isn't named is 0."""
        for fault in self.FAULTS:
            self._chances[fault].value = chances.get(fault, 0)

    def done(self):
        """How many frames met each fault."""
        return {fault: count.value for fault, count in self._done.items()}

    def close(self):
        self._process.kill()
        self._process.join()
        for end in self._ends:
            end.close()

    def _carry(self, draw):
        signal.signal(signal.SIGINT, signal.SIG_IGN)

        def meets(fault):
            met = draw.random() < self._chances[fault].value
            self._done[fault].value += met
            return met

        held = [None, None]  # a frame for each end, that the next one overtakes
        while True:
            ready, _, _ = select.select(self._ends, [], [], 0.01 if any(held) else None)
            for number, end in enumerate(self._ends):
                other = 1 - number
                if end not in ready:
                    self._send(other, held)
                    continue
                frame, (_, _, kind, *_) = end.recvfrom(LONGEST)
                if kind == 4 or meets("lost"):  # PACKET_OUTGOING: sent by this process
                    continue
                if meets("flipped"):
                    frame = flip(frame, draw)
                if held[other] is None and meets("swapped"):
                    held[other] = frame
                    continue
                for _ in range(1 + meets("doubled")):
                    self._ends[other].send(frame)
                self._send(other, held)

    def _send(self, number, held):
        if held[number] is not None:
            self._ends[number].send(held[number])
            held[number] = None
