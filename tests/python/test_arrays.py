# SPDX-License-Identifier: BSD-2-Clause
"""What passes for a gradient."""

import array
import unittest

import numpy as np

from loopback import Loopback

try:
    import torch
except ImportError:
    torch = None


class Tensor:
    """What torch's are to NumPy: the array protocol, and errors that help."""

    def __init__(self, values, requires_grad=False):
        self.values = np.asarray(values, np.float32)
        self.requires_grad = requires_grad
        self.shared = 0

    def __array__(self, dtype=None, copy=None):
        if self.requires_grad:
            raise RuntimeError("Use tensor.detach().numpy() instead.")
        self.shared += 1
        return self.values if dtype is None else self.values.astype(dtype)


class DlpackOnly:
    def __init__(self, values):
        self.values = np.asarray(values, np.float32)

    def __dlpack__(self, stream=None):
        return self.values.__dlpack__()

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class Gradients(Loopback):
    def pushed(self, gradient):
        received = []
        server = self.server(rule=lambda update: received.append(update.gradient.tolist()))
        self.worker(server).push(gradient)
        self.handle(server, 1)
        return received[0]

    def test_all_kinds_arrive(self):
        expected = [1.0, -2.0, 0.5]
        strided = np.zeros((3, 2), np.float32)
        strided[:, 0] = expected
        unaligned = np.frombuffer(b"x" + np.array(expected, np.float32).tobytes(), np.uint8)[1:]
        kinds = {
            "float32": np.array(expected, np.float32),
            "float64": np.array(expected),
            "float16": np.array(expected, np.float16),
            "big endian": np.array(expected, ">f4"),
            "strided": strided[:, 0],
            "reversed": np.array(expected[::-1], np.float32)[::-1],
            "unaligned": unaligned.view(np.float32),
            "read-only": np.array(expected, np.float32),
            "a column": np.array(expected, np.float32).reshape(3, 1),
            "buffer": array.array("f", expected),
            "memoryview": memoryview(array.array("d", expected)),
            "list": expected,
            "tensor": Tensor(expected),
            "dlpack": DlpackOnly(expected),
        }
        kinds["read-only"].flags.writeable = False
        for name, gradient in kinds.items():
            with self.subTest(name):
                self.assertEqual(self.pushed(gradient), expected)
        self.assertEqual(self.pushed(np.array([1, -2, 3], np.int8)), [1, -2, 3])

    def test_real_numbers_only(self):
        worker = self.worker(self.server())
        for wrong in (np.zeros(3, complex), ["a", "b", "c"], [None] * 3, b"abc", object()):
            with self.subTest(repr(wrong)), self.assertRaisesRegex(TypeError, "real numbers"):
                worker.push(wrong)

    def test_a_tensors_own_error_comes_through(self):
        worker = self.worker(self.server())
        with self.assertRaisesRegex(RuntimeError, "detach"):
            worker.push(Tensor([1, 2, 3], requires_grad=True))


if torch:  # not needed, nor among the packages of the tests: Tensor stands in for its tensors

    class Torch(Gradients):
        def test_tensors(self):
            self.assertEqual(self.pushed(torch.tensor([1.0, -2.0, 0.5])), [1, -2, 0.5])
            parameter = torch.nn.Parameter(torch.ones(3))
            (parameter * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
            self.assertEqual(self.pushed(parameter.grad), [1, 2, 3])
            with self.assertRaisesRegex(RuntimeError, "detach"):
                self.pushed(parameter)


if __name__ == "__main__":
    unittest.main()
