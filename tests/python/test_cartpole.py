# SPDX-License-Identifier: BSD-2-Clause
"""examples/cartpole/worker.py learns against the C++ server, whose model it must agree on."""

import importlib.util
import json
import os
import pathlib
import socket
import subprocess
import sys
import unittest

import numpy as np

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples/cartpole/worker.py"
SERVER = pathlib.Path(os.environ["OLAF_BUILD"]) / "examples/cartpole/olaf-cartpole-server"
TARGET = 400  # mean steps of 20 episodes; a model that hasn't learned falls after about 20


def example():
    spec = importlib.util.spec_from_file_location("worker", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Gradient(unittest.TestCase):
    def test_is_the_objectives(self):
        """By differences of the objective as policy.hpp writes it down."""
        worker, random = example(), np.random.default_rng(1)
        flat = random.normal(size=259) * 0.3
        states, actions = random.uniform(-0.2, 0.2, (6, 4)), np.array([0, 1, 1, 0, 1.0])

        # What the gradient takes for given: advantages and targets at these weights.
        values = worker.forward(worker.layers(flat), states)[1][:, 2]
        following = np.append(values[1:-1], 0)
        advantages, trace = np.zeros(5), 0.0
        for i in reversed(range(5)):
            trace = 0.01 + 0.99 * following[i] - values[i] + 0.99 * 0.95 * trace
            advantages[i] = trace
        targets = values[:-1] + advantages
        advantages = advantages / (np.sqrt(np.mean(advantages**2)) + 0.3)

        def objective(flat):
            outputs = worker.forward(worker.layers(flat), states[:-1])[1]
            right = 1 / (1 + np.exp(outputs[:, 0] - outputs[:, 1]))
            entropy = -right * np.log(right) - (1 - right) * np.log(1 - right)
            log_taken = np.where(actions == 1, np.log(right), np.log(1 - right))
            error = outputs[:, 2] - targets
            return np.mean(advantages * log_taken + 0.01 * entropy - 0.5 * error**2 / 2)

        numeric = np.array([(objective(flat + step) - objective(flat - step)) / 2e-5
                            for step in np.eye(259) * 1e-5])
        numeric *= min(1, 0.5 / np.linalg.norm(numeric))
        exact = worker.gradient(worker.layers(flat), states, actions, False)
        np.testing.assert_allclose(exact, numeric, atol=1e-6)


class Learning(unittest.TestCase):
    def test_against_the_cpp_server(self):
        address = f"127.0.0.1:{free_port()}"
        server = subprocess.Popen(
            [SERVER, "--bind", address, "--clusters", "1", "--seed", "1", "--quiet",
             "--target", str(TARGET), "--stop-at-target", "--duration", "90"],
            stdout=subprocess.PIPE, text=True)
        command = f"import worker; worker.train({address!r}, 0, 0)"
        learner = subprocess.Popen([sys.executable, "-B", "-c", command], cwd=EXAMPLE.parent)
        try:
            summary = json.loads(server.communicate(timeout=100)[0])["total"]
        finally:
            for process in (learner, server):
                process.kill()
                process.wait()
        self.assertEqual(summary["rejected"], 0)
        self.assertGreater(summary["updates_received"], 20)
        self.assertEqual(summary["clusters_at_target"], 1, "the mean episode did not get there")


if __name__ == "__main__":
    unittest.main()
