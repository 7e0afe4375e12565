# SPDX-License-Identifier: BSD-2-Clause
"""One of several processes whose models have many buckets of gradients: what Olaf averages is what Gloo does.

    buckets.py START NODE JOB RANK WORKERS
"""

import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import olaf
import olaf.torch

LAYERS, WIDTH, STEPS = 8, 300, 4
CAP_MB = 0.4  # a layer has 353 KiB; the first bucket takes 1 MiB


class Layers(torch.nn.Module):
    """Every second step leaves one layer out, where it may."""

    def __init__(self, leaves_out):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))
        self.leaves_out, self.turn = leaves_out, 0

    def forward(self, x):
        self.turn += 1
        for number, layer in enumerate(self.layers):
            if not (self.leaves_out and self.turn % 2 and number == 3):
                x = torch.tanh(layer(x))
        return x.square().mean()


def gradients(hook, leaves_out, accumulates, **options):
    """Of each step."""
    torch.manual_seed(1)
    model = DistributedDataParallel(Layers(leaves_out), bucket_cap_mb=CAP_MB, **options)
    if hook:
        model.register_comm_hook(None, hook)
    torch.manual_seed(100 + rank)
    found = []
    for _ in range(STEPS):
        model.zero_grad()
        if accumulates:
            with model.no_sync():
                model(torch.randn(8, WIDTH)).backward()
        model(torch.randn(8, WIDTH)).backward()
        found.append([each.grad.clone() for each in model.parameters() if each.grad is not None])
    return found


def expect_same(what, given, wanted):
    for step, (some, others) in enumerate(zip(given, wanted, strict=True)):
        for one, other in zip(some, others, strict=True):
            largest = other.abs().max().item()
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6 * largest,
                                       msg=lambda text: f"{what}, step {step}: {text}")


start, node, job, rank, workers = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
dist.init_process_group("gloo", init_method=f"tcp://{start}", rank=rank, world_size=workers)
collective = olaf.torch.collective(node, job, run="buckets", timeout=20)
collective.start()
buckets = set()
average = olaf.torch.allreduce_hook(collective)


def counting(state, bucket):
    buckets.add(bucket.index())
    return average(state, bucket)


for what, leaves_out, accumulates, options in [
        ("plain", False, False, {}),
        ("unused parameters", True, False, {"find_unused_parameters": True}),
        ("no_sync", False, True, {}),
        ("views of buckets", False, False, {"gradient_as_bucket_view": True}),
        ("static graph", False, False, {"static_graph": True})]:
    mine = gradients(counting, leaves_out, accumulates, **options)
    expect_same(what, mine, gradients(None, leaves_out, accumulates, **options))
if max(buckets) < 3:
    sys.exit(f"only {max(buckets) + 1} buckets a step")

# Two models take turns on one job.
models = [DistributedDataParallel(torch.nn.Linear(WIDTH, 1), bucket_cap_mb=CAP_MB) for _ in range(2)]
for model in models:
    model.register_comm_hook(None, average)
for turn in range(STEPS):
    for number, model in enumerate(models):
        model.zero_grad()
        model(torch.full((1, WIDTH), float(1 + rank + 10 * number + 100 * turn))).sum().backward()
        mean = 1 + (workers - 1) / 2 + 10 * number + 100 * turn
        torch.testing.assert_close(model.module.weight.grad, torch.full((1, WIDTH), mean))
collective.finish()
