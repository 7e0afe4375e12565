# SPDX-License-Identifier: BSD-2-Clause
"""examples/lunar_lander's game and PPO for Python, against a server in Python and one in C++."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

import numpy as np
import olaf
from loopback import SOON
from test_cartpole import free_port

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/lunar_lander"
BUILD = pathlib.Path(os.environ["OLAF_BUILD"])
GAME = BUILD / "examples/lunar_lander"
sys.path.insert(0, str(GAME))


class Game(unittest.TestCase):
    def setUp(self):
        from lunar_lander import LunarLander
        self.game = LunarLander()

    def episode(self, seed):
        observation, about = self.game.reset(seed=seed, options=None)
        self.assertEqual(about, {})
        rewards, ended = [], False
        while not ended:
            observation, reward, terminated, truncated, _ = self.game.step(0)
            rewards.append(reward)
            ended = terminated or truncated
        return observation, rewards, terminated

    def test_reset_and_step_are_gymnasiums(self):
        observation, rewards, terminated = self.episode(1)
        self.assertEqual((observation.shape, observation.dtype), ((8,), np.float32))
        self.assertTrue(terminated, "nobody flew it")
        self.assertEqual(rewards[-1], -100)

    def test_a_seed_repeats_an_episode(self):
        self.assertEqual(self.episode(2)[1], self.episode(2)[1])
        self.assertNotEqual(self.episode(2)[1], self.episode(3)[1])

    def test_an_episode_that_has_not_begun_is_refused(self):
        with self.assertRaisesRegex(ValueError, "call reset"):
            self.game.step(0)
        self.episode(4)
        with self.assertRaisesRegex(ValueError, "call reset"):
            self.game.step(0)

    def test_an_action_that_there_is_not_is_refused(self):
        self.game.reset()
        with self.assertRaisesRegex(ValueError, "action 4 isn't one of 0 to 3"):
            self.game.step(4)


class Processes(unittest.TestCase):
    def start(self, *command):
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True, env={
            **os.environ, "PYTHONPATH": f"{BUILD}/python:{GAME}", "PYTHONDONTWRITEBYTECODE": "1"})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process


class Worker(Processes):
    def test_learns_against_the_server_in_python(self):
        address = f"127.0.0.1:{free_port()}"
        server = self.start(sys.executable, EXAMPLE / "ppo_server.py", address)
        self.assertEqual(server.stdout.readline(), "listening\n")
        worker = self.start(sys.executable, EXAMPLE / "ppo_worker.py", address, 0, 1, 3)
        said = worker.communicate(timeout=60)[0].splitlines()
        self.assertEqual(worker.returncode, 0)
        self.assertEqual(len(said), 3)
        self.assertRegex(said[-1], r"version [1-3]: mean reward -?\d+")

    def test_learns_the_same_network_as_workers_in_cpp(self):
        address = f"127.0.0.1:{free_port()}"
        server = self.start(GAME / "olaf-lunar-lander-server", "--bind", address, "--duration", "60", "--quiet")
        python = self.start(sys.executable, EXAMPLE / "ppo_worker.py", address, 0, 1, 3)
        native = self.start(GAME / "olaf-lunar-lander-worker", "--server", address, "--worker", "0", "--iterations", "3")
        self.assertEqual(json.loads(native.communicate(timeout=60)[0])["sent"], 3)
        python.communicate(timeout=60)
        self.assertEqual(python.returncode, 0)
        server.terminate()
        total = json.loads(server.communicate(timeout=60)[0])["total"]
        self.assertEqual((total["updates_applied"], total["rejected"]), (6, 0))


class InTrouble(Processes):
    """Servers and workers that go, and a server that does what a test wants."""

    WEIGHTS = np.zeros(2205, np.float32)  # of network.hpp

    def server(self, address="127.0.0.1:0", first_version=1):
        """A server, and (worker, version of the weights that it was computed on) of each update, as they come."""
        updates = []
        server = olaf.ParameterServer(address, mtu=9000, acknowledge="known")
        server.add_cluster(0, self.WEIGHTS, rule=lambda update: updates.append((update.worker, update.model_version)),
                           codec=olaf.Codec(scale=2.0**24), first_version=first_version)
        return server, updates

    def worker(self, server, *more):
        """Plays in no time, without an end."""
        return self.start(GAME / "olaf-lunar-lander-worker", "--server", server.address, "--iterations", "0",
                          "--steps", "64", "--step-us", "0", *more)

    def handle(self, server, enough):
        while not enough():
            self.assertGreater(server.receive(SOON), 0, "no update came")

    def ended(self, worker):
        worker.terminate()
        said = json.loads(worker.communicate(timeout=SOON)[0])
        self.assertEqual(worker.returncode, 0)
        return said

    def test_a_worker_goes_on_with_a_server_that_was_killed_and_began_anew(self):
        server, updates = self.server(first_version=1000)
        address = server.address
        worker = self.worker(server)
        self.handle(server, lambda: len(updates) >= 20)
        del server
        anew, updates = self.server(address)
        self.handle(anew, lambda: updates and updates[-1][1] < 1000)
        said = self.ended(worker)
        self.assertLess(said["model_version"], 1000, "of the server that is there")
        self.assertLess(said["version_lag_mean"], 1000, "no distance is one between two servers' versions")

    def test_the_others_go_on_when_a_worker_is_killed(self):
        server, updates = self.server()
        doomed, other = (self.worker(server, "--worker", rank) for rank in range(2))
        self.handle(server, lambda: {worker for worker, _ in updates} == {0, 1})
        doomed.kill()
        doomed.wait()
        then = server.cluster(0).version
        self.handle(server, lambda: updates[-1][0] == 1 and updates[-1][1] > then)
        self.assertEqual(self.ended(other)["unsent"], 0)


class Gymnasium(unittest.TestCase):
    """Which game ppo_worker.py takes, where a module of that name is there."""

    def made(self, module):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "gymnasium.py").write_text(textwrap.dedent(module), encoding="utf-8")
            return subprocess.run([sys.executable, "-B", "-c", "import ppo_worker; print(ppo_worker.make_game())"],
                                  cwd=EXAMPLE, capture_output=True, text=True, timeout=60, check=False,
                                  env={**os.environ, "PYTHONPATH": f"{folder}:{BUILD}/python"})

    def test_where_it_is_installed_its_game_is_taken(self):
        self.assertEqual(self.made("def make(name): return 'the real ' + name\n").stdout, "the real LunarLander-v3\n")

    def test_without_its_box2d_both_ways_out_are_told(self):
        told = self.made("""
            import types
            class DependencyNotInstalled(Exception): pass
            error = types.SimpleNamespace(DependencyNotInstalled=DependencyNotInstalled)
            def make(name): raise DependencyNotInstalled("Box2D is not installed")
            """)
        self.assertEqual(told.returncode, 1)
        self.assertIn("gymnasium[box2d]", told.stderr)
        self.assertIn("no gymnasium", told.stderr)


if __name__ == "__main__":
    unittest.main()
