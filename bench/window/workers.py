# SPDX-License-Identifier: BSD-2-Clause
"""workers.py SERVER RATE CLUSTERS LANES: sends RATE updates a second, of one cluster after another, until it is
killed."""

import socket
import struct
import sys
import time

rate, clusters, lanes = map(int, sys.argv[2:5])
HEADER = struct.Struct(">HBBHHIIIIQqIHH")
MAGIC, VERSION, UPDATE = 0x01AF, 1, 1
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.connect((sys.argv[1], 6523))
payload = bytes(8 * lanes)
start, sent = time.monotonic(), 0
while True:
    while sent < (time.monotonic() - start) * rate:
        sock.send(HEADER.pack(MAGIC, VERSION, UPDATE, 0, lanes, sent % clusters, 1, sent & 0xFFFFFFFF, 1,
                              time.time_ns(), 0, 1, 0, 1) + payload)
        sent += 1
    time.sleep(0.001)
