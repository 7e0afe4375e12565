# SPDX-License-Identifier: BSD-2-Clause
"""Workers that flood from every CPU, and strangers that send what nobody asked for."""
import multiprocessing
import os
import random
import signal
import time

import wire

CLUSTERS = 16


class Traffic:
    """Processes that send until they are stopped, one on each CPU; and one stranger if wanted."""

    def __init__(self, bed, seed, pause_s, hostile):
        self.sent = [multiprocessing.RawValue("Q", 0) for _ in range(os.cpu_count())]
        self._stop = multiprocessing.Event()
        # Made here: a namespace is entered by the thread that makes the socket.
        sockets = [bed.worker_socket() for _ in self.sent]
        work = [multiprocessing.Process(target=self._flood, daemon=True,
                                        args=(cpu, sockets[cpu], bed.target(), seed, pause_s))
                for cpu in range(len(self.sent))]
        if hostile:
            bed.strangers = True
            raw = bed.worker.packets("eth0")
            work.append(multiprocessing.Process(target=self._annoy, daemon=True,
                                                args=(raw, bed, seed)))
        self._processes = work
        for process in work:
            process.start()

    def stop(self):
        self._stop.set()
        for process in self._processes:
            process.join(10)
            if process.is_alive():
                process.kill()
                raise RuntimeError("a sender hangs")
            if process.exitcode != 0:
                raise RuntimeError(f"a sender ended with {process.exitcode}")
        return sum(sent.value for sent in self.sent)

    def _flood(self, cpu, sender, target, seed, pause_s):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.sched_setaffinity(0, {cpu})
        draw = random.Random(f"{seed}/flood/{cpu}")
        sequence = 0
        while not self._stop.is_set():
            for _ in range(32):
                sequence += 1
                lanes = [draw.getrandbits(64) for _ in range(draw.choice((3, 8, 8, 8)))]
                data = wire.message(draw.randrange(CLUSTERS), cpu, sequence, lanes,
                                    generated_ns=time.time_ns())
                try:
                    sender.sendto(data, target)
                    self.sent[cpu].value += 1
                except OSError:
                    pass  # the fault took the way to the queue
            time.sleep(pause_s)

    def _annoy(self, raw, bed, seed):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        draw = random.Random(f"{seed}/stranger")
        while not self._stop.is_set():
            for _ in range(16):
                try:
                    raw.send(hostile_frame(bed, draw))
                except OSError:
                    pass
            time.sleep(0.002)


def hostile_frame(bed, draw):
    """Something that a stranger could send. None of it reaches the server but through the queue."""
    lanes = [draw.getrandbits(64) for _ in range(draw.randrange(1, 20))]
    fields = {"cluster": draw.choice((0, 1, 5, 15, 1023, 1024, 0xFFFFFFFF)),
              "worker": draw.choice((0, 1, 255, 256, 0xFFFFFFFF)),
              "sequence": draw.getrandbits(32), "lanes": lanes}
    where = dict(bed.path())
    trick = draw.choice(("shape", "count", "ack", "foreign", "tag", "mac", "version", "cut", "noise",
                         "segment", "spoof"))
    if trick == "shape":
        fields["flags"] = draw.choice((0, 1, 0x101, 0x201))
    elif trick == "count":
        fields["count"] = draw.choice((0, 2, 255, 256, 257, 4_000_000_000))
    elif trick == "ack":
        fields |= {"kind": wire.ACK, "flags": 0, "count": 0}
    elif trick == "foreign":
        where["target"] = bed.foreign_address()
    elif trick == "tag":
        where["tag"] = draw.randrange(1, 4095)
    elif trick == "mac":
        where["target_mac"] = bytes([2, 0, 0, 0, 9, draw.randrange(256)])
    elif trick == "version":
        fields["version"] = draw.choice((0, 2, 255))
    elif trick == "segment":
        fields |= {"segment": draw.choice((0, 1, 65535)), "segments": draw.choice((0, 2, 65535))}
    elif trick == "spoof":
        where["source"] = bed.spoofed_address(draw)
    data = wire.frame(payload=wire.message(**fields), **where)
    if trick == "cut":
        data = data[:draw.randrange(14, len(data))]
    elif trick == "noise":
        data = bytearray(data)
        data[draw.randrange(14, len(data))] ^= 1 << draw.randrange(8)
    return bytes(data)
