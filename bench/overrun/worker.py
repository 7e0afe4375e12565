#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The worker of bench/overrun/run: sums a vector by itself, again and again, and tells what it sent."""

import json
import sys
import time

import numpy as np

setup = json.loads(sys.argv[1])
sys.path.insert(0, setup["module"])

import olaf  # noqa: E402

collective = olaf.Collective(setup["node"], job=setup["job"], rank=0, workers=1, mtu=setup["mtu"])
collective.join()
expected = np.random.default_rng(1).standard_normal(setup["elements"]).astype(np.float32)
vector = expected.copy()
began = time.perf_counter()
for _ in range(setup["turns"]):
    collective.allreduce(vector)
seconds = time.perf_counter() - began
# The sum of one vector is that vector, but for its last bits.
error = np.abs(vector - expected).max()
if not error <= setup["turns"] * 2.0**-23 * np.abs(expected).max():
    sys.exit(f"error: wrong sum: {error} off")
stats = collective.stats
print(json.dumps({"sent": stats.sent, "repeated": stats.repeated, "answers": stats.results + stats.unasked,
                  "seconds": seconds}))
