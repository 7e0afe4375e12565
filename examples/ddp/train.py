#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Trains two small models with DistributedDataParallel, twice side by side: their gradients are
averaged by Gloo, and by a host with Olaf. One process a worker:

    train.py --start ADDR:PORT --node ADDR --job 7 --rank R --workers N [--csv FILE] [--json FILE]

Both replicas of a model begin with the same weights and see the same batches, turn by turn, so that
they can be compared step by step. Rank 0 writes the results.
"""

import argparse
import csv
import hashlib
import json
import statistics
import time

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

import olaf
import olaf.torch
from models import MODELS

WAYS = ("gloo", "olaf")


class Replica:
    """A model whose gradients are averaged in one of the two ways."""

    def __init__(self, make, learning, way, job):
        torch.manual_seed(1)
        self.model = DistributedDataParallel(make())
        if way == "olaf":
            self.model.register_comm_hook(None, olaf.torch.allreduce_hook(job))
        self.optimizer = torch.optim.SGD(self.model.parameters(), **learning)

    def step(self, batch):
        """Returns the loss before it, and how long it took in milliseconds."""
        dist.barrier()  # nobody's time is spent on waiting for who is late
        began = time.perf_counter()
        self.optimizer.zero_grad()
        loss = cross_entropy(self.model(batch[0]), batch[1])
        loss.backward()
        self.optimizer.step()
        return loss.detach(), 1000 * (time.perf_counter() - began)

    def digest(self):
        """Of all weights, bit by bit."""
        weights = torch.nn.utils.parameters_to_vector(self.model.parameters()).detach()
        return hashlib.sha256(weights.numpy().tobytes()).hexdigest()


def same_everywhere(value):
    """Whether all workers have this value."""
    values = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return len(set(values)) == 1


def train(name, steps, job, show):
    """Rows of (model, step, way, loss over all workers, milliseconds), and a summary."""
    make, batches, learning = MODELS[name]
    replicas = {way: Replica(make, learning, way, job) for way in WAYS}
    random = torch.Generator().manual_seed(100 + dist.get_rank())
    rows = []
    for step in range(steps):
        batch = batches(random)
        for way in WAYS if step % 2 else reversed(WAYS):
            loss, took = replicas[way].step(batch)
            dist.all_reduce(loss)
            rows.append((name, step, way, loss.item() / dist.get_world_size(), took))
        if show and (step + 1) % 50 == 0:
            print(f"{name}: step {step + 1} of {steps}, loss {rows[-1][3]:.4f}", flush=True)
    losses = {way: [row[3] for row in rows if row[2] == way] for way in WAYS}
    times = {way: [row[4] for row in rows if row[2] == way] for way in WAYS}
    elements = sum(each.numel() for each in replicas["olaf"].model.parameters())
    return rows, {
        "model": name, "parameters": elements, "gradient_bytes": 4 * elements, "steps": steps,
        "first_loss": losses["olaf"][0],
        "loss": {way: losses[way][-1] for way in WAYS},
        "largest_difference": max(abs(a - b) for a, b in zip(losses["gloo"], losses["olaf"])),
        "step_ms": {way: statistics.median(times[way]) for way in WAYS},
        "replicas_agree": {way: same_everywhere(replicas[way].digest()) for way in WAYS},
    }


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--start", required=True, help="ADDR:PORT of rank 0, where all meet")
    parser.add_argument("--node", required=True, help="ADDR[:PORT] of the host that has the job")
    parser.add_argument("--job", type=int, default=7)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--lanes", type=int, default=0, help="of a frame, as the job has them")
    parser.add_argument("--run", help="the training's name, the same at all workers (by --start)")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--csv", help="a row for each model, step and way")
    parser.add_argument("--json", help="a summary for each model")
    return parser.parse_args()


def main():
    options = arguments()
    torch.set_num_threads(1)  # as many processes as workers are enough for one machine
    dist.init_process_group("gloo", init_method=f"tcp://{options.start}", rank=options.rank,
                            world_size=options.workers)
    # Two trainings can't have the same --start at a time, and each start of one is a later run.
    job = olaf.torch.collective(options.node, options.job, run=options.run or f"ddp {options.start}",
                                timeout=30, lanes=options.lanes)
    job.start()
    rows, summaries = [], []
    for name in options.models:
        more, summary = train(name, options.steps, job, show=options.rank == 0)
        rows += more
        summaries.append(summary)
    job.finish()
    if options.rank == 0 and options.csv:
        with open(options.csv, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("model", "step", "way", "loss", "step_ms"), *rows])
    if options.rank == 0 and options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"workers": options.workers, "models": summaries}, file, indent=1)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
