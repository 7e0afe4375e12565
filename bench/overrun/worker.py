#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""One worker of bench/overrun/run: sums a vector with the others, again and again, and tells what it sent.

Of integers: floats need exponents of earlier chunks, so no more than 64 would be under way, whatever the window."""

import json
import sys
import time

import numpy as np

setup = json.loads(sys.argv[1])
sys.path.insert(0, setup["module"])

import olaf  # noqa: E402

rank, workers = setup["rank"], setup["workers"]
collective = olaf.Collective(setup["node"], job=setup["job"], rank=rank, workers=workers, mtu=setup["mtu"],
                             run="bench/overrun")
collective.start()
limit = 2**31 // workers
parts = [np.random.default_rng(of).integers(-limit, limit, setup["elements"], np.int32) for of in range(workers)]
vector = parts[rank].copy()
questions = collective.stats.unasked  # second answers to start(), which are no results
print("ready", flush=True)  # all begin at once, before the node has taken anything of any of them
sys.stdin.readline()
began = time.perf_counter()
for turn in range(setup["turns"]):
    if turn:
        vector[:] = parts[rank]
    collective.allreduce(vector)
seconds = time.perf_counter() - began
if not np.array_equal(vector, np.sum(parts, axis=0, dtype=np.int64)):
    sys.exit("error: wrong sum")
collective.finish()
stats = collective.stats
print(json.dumps({"sent": stats.sent, "repeated": stats.repeated, "answers": stats.results + stats.unasked - questions,
                  "seconds": seconds}))
