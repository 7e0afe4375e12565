# SPDX-License-Identifier: BSD-2-Clause
"""Runs examples/ddp with processes of its own, and looks at what came of it."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

TRAIN = pathlib.Path(__file__).parents[2] / "examples/ddp/train.py"
SOON = 60.0  # s, for what takes a few


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def run_workers(case, commands):
    """Runs a process of each command, and checks that all end well."""
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  env=dict(os.environ, GLOO_SOCKET_IFNAME="lo"))
                 for command in commands]
    try:
        said = [process.communicate(timeout=SOON)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    ends = "".join(f"rank {rank} ended with {process.returncode}: {said[rank]}\n"
                   for rank, process in enumerate(processes))
    case.assertEqual([process.returncode for process in processes], [0] * len(processes), ends)


def train(case, workers, node, more, before=lambda rank: [], start=None):
    """Trains with so many processes; `before` is what a rank's command begins with. Checks that all
    ended well and agree, and returns the summaries by model."""
    start = start or f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder, "result.json")
        common = [sys.executable, "-B", str(TRAIN), "--start", start, "--node", node, "--workers",
                  str(workers), "--json", str(result), *more]
        run_workers(case, [[*before(rank), *common, "--rank", str(rank)] for rank in range(workers)])
        summaries = json.loads(result.read_text(encoding="utf-8"))["models"]
    return {each["model"]: each for each in summaries}


def expect_same_training(case, summary):
    """Replicas agree bit by bit; Gloo's loss is Olaf's, but for the rounding of float32."""
    case.assertEqual(summary["replicas_agree"], {"gloo": True, "olaf": True})
    case.assertLess(summary["largest_difference"], 1e-5 * summary["first_loss"])
    case.assertNotEqual(summary["loss"]["olaf"], summary["first_loss"])
