# SPDX-License-Identifier: BSD-2-Clause
"""server.py SERVICE_US DELAY_US: takes updates one after another, SERVICE_US each, and sends each one's
ACK DELAY_US after it is done. Says a line when it is ready; runs until it is killed."""

import collections
import select
import socket
import sys
import time

service, delay = (int(word) * 1000 for word in sys.argv[1:3])
ACK = 2
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
sock.bind(("", 6523))
sock.setblocking(False)
print("ready", flush=True)

free = 0  # nanoseconds: when the server has done with all it has got
due = collections.deque()  # (when, ACK, address): service is in order, so these are too
while True:
    wait = None if not due else max(0, due[0][0] - time.monotonic_ns()) / 1e9
    if select.select([sock], [], [], wait)[0]:
        try:
            while True:
                message, address = sock.recvfrom(65536)
                free = max(free, time.monotonic_ns()) + service
                # Bytes 20-23 and 32-39 are the queue's state in an ACK: zero from a server. No lanes.
                ack = (message[:3] + bytes([ACK]) + b"\x03\x00\x00\x00" + message[8:20] + bytes(4) + message[24:32]
                       + bytes(8) + message[40:48])
                due.append((free + delay, ack, address))
        except BlockingIOError:
            pass
    while due and due[0][0] <= time.monotonic_ns():
        _, ack, address = due.popleft()
        sock.sendto(ack, address)
