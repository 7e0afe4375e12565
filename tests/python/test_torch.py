# SPDX-License-Identifier: BSD-2-Clause
"""olaf.torch with Debian's torch, through a model of the node on loopback."""

import os
import subprocess
import unittest

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import olaf
import olaf.torch
from training import expect_same_training, train

SERVER = os.path.join(os.environ["OLAF_BUILD"], "tests", "unit", "olaf_round_server")
JOB = 5  # the server's


class Node:
    """A node for so many workers: its address."""

    def __init__(self, workers):
        self.process = subprocess.Popen([SERVER, str(workers)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self.process.stdout.readline().strip()

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Scale(torch.nn.Module):
    """Multiplies by its parameters, whose gradient is then what it was given."""

    def __init__(self, dtype):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.ones(50, dtype=dtype))

    def forward(self, x):
        return (self.factor * x).sum()


class Alone(unittest.TestCase):
    """One process, for which the mean is its own gradient."""

    @classmethod
    def setUpClass(cls):
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)

    @classmethod
    def tearDownClass(cls):
        dist.destroy_process_group()

    def gradient(self, node, dtype, given, timeout=20.0):
        model = DistributedDataParallel(Scale(dtype))
        job = olaf.Collective(node, JOB, 0, 1, timeout=timeout)
        model.register_comm_hook(None, olaf.torch.allreduce_hook(job))
        model(given).backward()
        return model.module.factor.grad

    def test_gradients_of_short_types_go_by_float32(self):
        for dtype in (torch.float32, torch.float16):
            given = torch.arange(50).to(dtype) / 8
            with self.subTest(dtype), Node(1) as node:
                gradient = self.gradient(node, dtype, given)
                self.assertEqual(gradient.dtype, dtype)
                self.assertEqual(gradient.tolist(), given.tolist())

    def test_several_buckets_are_under_way_and_laid_out_anew(self):
        layers = [torch.nn.Linear(300, 300) for _ in range(6)]  # of 353 KiB each
        model = DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=0.5)
        indices = []
        with Node(1) as node:
            job = olaf.Collective(node, JOB, 0, 1, timeout=20)
            hook = olaf.torch.allreduce_hook(job)
            model.register_comm_hook(None, lambda state, bucket: (
                indices.append(bucket.index()), hook(state, bucket))[1])
            for _ in range(3):
                model.zero_grad()
                given = torch.randn(8, 300)
                model(given).square().mean().backward()
                found = [each.weight.grad.clone() for each in layers]
                model.zero_grad()
                model.module(given).square().mean().backward()
                for own, each in zip(found, layers):
                    torch.testing.assert_close(own, each.weight.grad, rtol=1e-6, atol=1e-6)
            self.assertGreater(max(indices), 1, "the buckets of a step")

    def test_what_goes_wrong_is_raised_by_backward(self):
        nobody = "127.0.0.1:9"
        with self.assertRaisesRegex(RuntimeError, "TimeoutError.*the node hasn't answered"):
            self.gradient(nobody, torch.float32, torch.ones(50), timeout=0.1)
        with self.assertRaisesRegex(RuntimeError, "a bucket of torch.float64: olaf.torch is for"):
            self.gradient(nobody, torch.float64, torch.ones(50, dtype=torch.float64))


class Together(unittest.TestCase):
    def test_two_processes_train_as_with_gloo(self):
        with Node(2) as node:
            summaries = train(self, 2, node, ["--job", str(JOB), "--steps", "25"])
        self.assertEqual(sorted(summaries), ["mlp", "transformer"])
        for summary in summaries.values():
            expect_same_training(self, summary)


if __name__ == "__main__":
    unittest.main()
