#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""fetch_beside.py URL COUNT: what is there, while so many connections say nothing. Status 1 if nothing is, or if one
of those was closed before: then the answer may have waited for that."""

import socket
import sys
import urllib.parse
import urllib.request

url, count = sys.argv[1], int(sys.argv[2])
there = urllib.parse.urlsplit(url)
silent = [socket.create_connection((there.hostname, there.port)) for _ in range(count)]
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
text = opener.open(url, timeout=20).read().decode()
for connection in silent:
    connection.setblocking(False)
    try:
        connection.recv(1)
        sys.exit("a silent connection was closed before the answer came")
    except BlockingIOError:
        pass  # it is open
sys.stdout.write(text)
