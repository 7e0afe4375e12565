# SPDX-License-Identifier: BSD-2-Clause
"""olaf.torch with Debian's torch, through a model of the node on loopback."""

import datetime
import os
import pathlib
import signal
import subprocess
import sys
import time
import types
import unittest
import unittest.mock

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import olaf
import olaf.torch
from loopback import JOB, SOON, Node
from training import expect_same_training, free_port, run_workers, train


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
        job = olaf.Collective(node, JOB, 0, 1, timeout=timeout, run="test")
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
            job = olaf.Collective(node, JOB, 0, 1, timeout=20, run="test")
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

    def test_a_collective_is_made_of_the_process_group(self):
        made = {}
        with unittest.mock.patch.object(olaf.torch, "Collective", lambda *given, **named: made.update(
                named, given=given)):
            before = time.time_ns()
            olaf.torch.collective("192.0.2.1", JOB, run="mine", lanes=9)
            self.assertEqual(made["given"], ("192.0.2.1", JOB, 0, 1))
            self.assertEqual((made["run"], made["lanes"]), ("mine", 9))
            self.assertEqual(made["timeout"], dist.distributed_c10d.default_pg_timeout.total_seconds())
            first = made["run_number"]
            self.assertTrue(before <= first <= time.time_ns())
            olaf.torch.collective("192.0.2.1", JOB, process_group=dist.group.WORLD, timeout=7)
            self.assertEqual((made["run"], made["timeout"]), (None, 7))
            self.assertGreaterEqual(made["run_number"], first)

    def test_a_collective_of_a_process_group_needs_a_name_too(self):
        with unittest.mock.patch.dict(os.environ, {"TORCHELASTIC_RUN_ID": "none", "SLURM_JOB_ID": ""}):
            with self.assertRaisesRegex(ValueError, "in Python run="):
                olaf.torch.collective("127.0.0.1:9", JOB)

    def test_the_timeout_is_the_groups(self):
        limit = types.SimpleNamespace(_timeout=datetime.timedelta(seconds=7))
        self.assertEqual(olaf.torch._timeout_of(types.SimpleNamespace(options=limit)), 7)
        backend = types.SimpleNamespace(options=limit)  # as torch 2 has it
        self.assertEqual(olaf.torch._timeout_of(types.SimpleNamespace(_get_backend=lambda device: backend)), 7)

    def test_ctrl_c_ends_backward(self):
        with Node(2) as node:  # and nobody else
            work = subprocess.Popen([sys.executable, "-c", INTERRUPTED, node], text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            with work:
                self.assertEqual(work.stdout.readline(), "waits\n")
                work.send_signal(signal.SIGINT)
                said = work.communicate()[0]
        self.assertEqual((said, work.returncode), ("interrupted\n", 0))


# Once its last bucket was handed over, DDP waits in C++.
INTERRUPTED = f"""
import sys, threading, torch, torch.distributed as dist
import olaf, olaf.torch
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1))
job = olaf.Collective(sys.argv[1], {JOB}, 0, 2, timeout={SOON}, run="test")
model.register_comm_hook(None, olaf.torch.allreduce_hook(job))

def tell():
    while not job.stats.agreed:  # it has asked where to begin
        pass
    print("waits", flush=True)
threading.Thread(target=tell, daemon=True).start()
try:
    model(torch.ones(3)).sum().backward()
except KeyboardInterrupt:
    print("interrupted")
"""


class Tensors(unittest.TestCase):
    """What a Collective takes of torch by itself."""

    def test_a_sum_takes_the_place_of_a_tensor(self):
        with Node(1) as node:
            job = olaf.Collective(node, JOB, 0, 1, timeout=20, run="test")
            tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)
            tensor *= 2
            job.allreduce(tensor)
            self.assertEqual(tensor.tolist(), [[0, 2, 4], [6, 8, 10]])

    def test_what_would_be_summed_in_a_copy_is_refused(self):
        job = olaf.Collective("127.0.0.1:9", JOB, 0, 1, run="test")
        with self.assertRaisesRegex(RuntimeError, "requires grad"):
            job.allreduce(torch.ones(4, requires_grad=True))
        with self.assertRaisesRegex(ValueError, "contiguous"):
            job.allreduce(torch.ones(4, 4)[:, 1])
        with self.assertRaisesRegex(TypeError, "BFloat16"):
            job.allreduce(torch.ones(4, dtype=torch.bfloat16))


class Together(unittest.TestCase):
    def test_two_processes_train_as_with_gloo(self):
        with Node(2) as node:
            summaries = train(self, 2, node, ["--job", str(JOB), "--steps", "25"])
        self.assertEqual(sorted(summaries), ["mlp", "transformer"])
        for summary in summaries.values():
            expect_same_training(self, summary)

    def test_many_buckets_of_several_processes_are_averaged_as_by_gloo(self):
        start, workers = f"127.0.0.1:{free_port()}", 3
        script = str(pathlib.Path(__file__).with_name("buckets.py"))
        with Node(workers) as node:
            run_workers(self, [[sys.executable, "-B", script, start, node, str(JOB), str(rank), str(workers)]
                               for rank in range(workers)])


class FakeBucket:
    """What of a GradBucket the hook looks at."""

    def __init__(self, buffer, parameters=()):
        self.buffer, self.parameters = lambda: buffer, lambda: parameters


class FakeCollective:
    """Leaves a part of each vector out; the others' mean is 100."""

    def __init__(self, left_out):
        self.left_out, self.given = left_out, []

    def allreduce_async(self, vector, op):
        self.given.append(vector.copy())
        vector[:] = 100
        at = self.left_out.pop(0)
        sums = types.SimpleNamespace(left_out_at=at, left_out=sum(each.stop - each.start for each in at))
        return types.SimpleNamespace(wait=lambda: sums)


class Hook(unittest.TestCase):
    def test_bfloat16_goes_by_float32(self):
        buffer = torch.arange(6).to(torch.bfloat16)
        with Node(1) as node:
            job = olaf.Collective(node, JOB, 0, 1, timeout=20, run="test")
            mean = olaf.torch.allreduce_hook(job)(None, FakeBucket(buffer)).wait()
        self.assertIs(mean.dtype, torch.bfloat16)
        self.assertEqual(mean.tolist(), [0, 1, 2, 3, 4, 5])

    def test_what_came_too_late_is_added_to_the_next_gradient_of_the_same_parameters(self):
        some, other = torch.ones(1), torch.ones(1)
        for residual, wanted in [(True, [1, 1, 2, 2, 1]), (False, [1, 1, 1, 1, 1])]:
            job = FakeCollective([[slice(2, 4, 1)], [], []])
            reports = []
            hook = olaf.torch.allreduce_hook(job, residual=residual, report=reports.append)
            for parameters in ([some], [other], [some]):
                self.assertEqual(hook(None, FakeBucket(torch.ones(5), parameters)).wait().tolist(), [100] * 5)
            self.assertEqual([each.tolist() for each in job.given], [[1] * 5, [1] * 5, wanted])
            self.assertEqual([each.left_out for each in reports], [2, 0, 0])


if __name__ == "__main__":
    unittest.main()
