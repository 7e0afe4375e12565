#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""One worker of bench/allreduce/run: sums vectors by Gloo and by Olaf in turns, and tells how long each took. With a parameter
server ("servers": 1), which is one more process with the rank behind the last worker's, by that as well. By default all are in one
namespace; "master" and "device" say where the first worker is reached, and by which device."""

import json
import os
import sys
import time

import numpy as np

setup = json.loads(sys.argv[1])
rank, workers = setup["rank"], setup["workers"]
sys.path.insert(0, setup["module"])
servers = setup.get("servers", 0)
serves = rank == workers
os.environ.update(MASTER_ADDR=setup.get("master", "127.0.0.1"), MASTER_PORT="29500", GLOO_SOCKET_IFNAME=setup.get("device", "lo"))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

import olaf  # noqa: E402

torch.set_num_threads(1)
dist.init_process_group("gloo", rank=rank, world_size=workers + servers)
ring = dist.new_group(range(workers)) if servers else None
if not serves:
    collective = olaf.Collective(setup["node"], job=setup["job"], rank=rank, workers=workers, mtu=setup["mtu"],
                                 format=setup["format"], threads=setup["threads"], gso=setup["gso"],
                                 run="bench/allreduce")
    collective.start()
print(json.dumps("joined"), flush=True)
sys.stdin.readline()  # until all have


def by_gloo(vector):
    if not serves:
        dist.all_reduce(torch.from_numpy(vector), group=ring)


def by_olaf(vector):
    if not serves:
        collective.allreduce(vector)


def by_server(vector):
    """Every worker sends its vector there and gets the sum."""
    if not serves:
        dist.send(torch.from_numpy(vector), dst=workers)
        dist.recv(torch.from_numpy(vector), src=workers)
        return
    parts = [torch.empty(len(vector)) for _ in range(workers)]
    for request in [dist.irecv(given, src=worker) for worker, given in enumerate(parts)]:
        request.wait()
    total = sum(parts)
    for request in [dist.isend(total, dst=worker) for worker in range(workers)]:
        request.wait()


def part(of, elements, turn=0):
    """What a worker gives: other numbers each turn, whose size changes by a tenth or so as that of gradients does."""
    size = np.exp(0.1 * np.random.default_rng(turn).standard_normal())
    return (size * np.random.default_rng((of, turn)).standard_normal(elements)).astype(np.float32)


def check(contender, elements):
    """Every element is the sum, as exactly as float32's own additions of elements as large as the largest."""
    parts = [part(of, elements) for of in range(workers)]
    vector = parts[0 if serves else rank].copy()
    contender(vector)
    if serves:
        return
    error = np.abs(vector - np.sum(parts, axis=0, dtype=np.float64)).max()
    bound = workers * 2.0**-23 * max(np.abs(one).max() for one in parts)
    if not error <= bound:
        sys.exit(f"error: wrong sum, nothing was timed: {contender.__name__}, {elements} elements: {error} > {bound}")


def by_itself(contender, vector):
    """Seconds until this worker has the sum, and its CPU time: nobody waits but for the sum."""
    began, busy = time.perf_counter(), time.process_time()
    contender(vector)
    return time.perf_counter() - began, time.process_time() - busy


def timed(contender, vector):
    """Seconds from when the last worker has begun until the last has the sum, and the CPU time of all. A barrier lets
    workers go one after the other, the longer apart the more of them share a CPU: that is not the contender's time."""
    dist.barrier()
    began, busy = time.perf_counter(), time.process_time()
    contender(vector)
    mine = torch.tensor([began, time.perf_counter(), time.process_time() - busy], dtype=torch.float64)
    every = [torch.zeros(3, dtype=torch.float64) for _ in range(workers + servers)]
    dist.all_gather(every, mine)
    begun, ended, spent = zip(*(one.tolist() for one in every), strict=True)
    return max(ended[:workers]) - max(begun[:workers]), sum(spent)


for size, turns in setup["sizes"]:
    elements = size // 4
    contenders = (by_olaf,) if setup["alone"] else (by_gloo, by_olaf) + (by_server,) * servers
    for contender in contenders:
        check(contender, elements)
    first = part(rank, elements)
    line = {"bytes": size, "by_gloo": [], "by_olaf": [], "by_server": []}
    before = None if serves else collective.stats
    for turn in range(turns):
        for contender in contenders[:: 1 if turn % 2 else -1]:
            vector = first.copy() if setup["alone"] else part(rank, elements, turn)
            line[contender.__name__].append((by_itself if setup["alone"] else timed)(contender, vector))
    if serves:
        continue
    after = collective.stats
    sent = after.sent - before.sent
    spared = after.spared - before.spared
    line["repeated"] = (after.repeated - before.repeated) / max(sent, 1)
    line["spared"] = spared / max(sent + spared, 1)
    if rank == 0:
        print(json.dumps(line), flush=True)
# Gloo fails where another worker is gone already.
print(json.dumps("done"), flush=True)
sys.stdin.read()
