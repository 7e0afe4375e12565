#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""One worker of bench/allreduce/run: sums vectors by Gloo and by Olaf in turns, and tells how long each took."""

import json
import os
import sys
import time

import numpy as np

setup = json.loads(sys.argv[1])
rank, workers = setup["rank"], setup["workers"]
sys.path.insert(0, setup["module"])
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29500", GLOO_SOCKET_IFNAME="lo")

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

import olaf  # noqa: E402

torch.set_num_threads(1)
dist.init_process_group("gloo", rank=rank, world_size=workers)
collective = olaf.Collective(setup["node"], job=setup["job"], rank=rank, workers=workers, mtu=setup["mtu"],
                             format=setup["format"], threads=setup["threads"])
collective.join()


def by_gloo(vector):
    dist.all_reduce(torch.from_numpy(vector))


def by_olaf(vector):
    collective.allreduce(vector)


def part(of, elements):
    return np.random.default_rng(of).standard_normal(elements).astype(np.float32)


def check(contender, elements):
    """Every element is the sum, as exactly as float32's own additions of elements as large as the largest."""
    parts = [part(of, elements) for of in range(workers)]
    vector = parts[rank].copy()
    contender(vector)
    error = np.abs(vector - np.sum(parts, axis=0, dtype=np.float64)).max()
    bound = workers * 2.0**-23 * max(np.abs(one).max() for one in parts)
    if not error <= bound:
        sys.exit(f"error: wrong sum, nothing was timed: {contender.__name__}, {elements} elements: {error} > {bound}")


def timed(contender, vector):
    """Seconds until the last worker has the sum, and this one's CPU time."""
    dist.barrier()
    began, busy = time.perf_counter(), time.process_time()
    contender(vector)
    spent = torch.tensor([time.perf_counter() - began, time.process_time() - busy], dtype=torch.float64)
    every = [torch.zeros(2, dtype=torch.float64) for _ in range(workers)]
    dist.all_gather(every, spent)
    return max(one[0].item() for one in every), sum(one[1].item() for one in every)


for size, turns in setup["sizes"]:
    elements = size // 4
    for contender in (by_gloo, by_olaf):
        check(contender, elements)
    vector = np.zeros(elements, np.float32)  # so that sums of sums stay finite
    line = {"bytes": size, "by_gloo": [], "by_olaf": []}
    before = collective.stats
    for turn in range(turns):
        for contender in (by_gloo, by_olaf)[:: 1 if turn % 2 else -1]:
            vector[:] = part(rank, elements) if turn == 0 else vector * np.float32(1 / workers)
            line[contender.__name__].append(timed(contender, vector))
    after = collective.stats
    sent = after.sent - before.sent
    line["repeated"] = (after.repeated - before.repeated) / sent
    if rank == 0:
        print(json.dumps(line), flush=True)
# Gloo fails where another worker is gone already.
print(json.dumps("done"), flush=True)
sys.stdin.read()
