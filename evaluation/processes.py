# SPDX-License-Identifier: BSD-2-Clause
"""Processes in namespaces, several measurements at a time, and waiting for queues to empty."""

import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import threading
import time


class Process:
    """A process in a namespace that says a line when it is ready, and JSON when it ends or on SIGTERM. A context:
    killed on leaving."""

    def __init__(self, network, place, *command, environment=None):
        self.process = subprocess.Popen(
            [*network.inside(place), *map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=dict(os.environ, **(environment or {})))
        self.name = next(pathlib.Path(str(word)).name for word in command if "python3" not in str(word))

    def ready(self):
        if not self.process.stdout.readline():
            raise RuntimeError(f"{self.name} ended with status {self.process.wait()}")

    def start(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def result(self):
        """Ends it; what it found."""
        self.process.send_signal(signal.SIGTERM)
        return self.outcome(30)

    def outcome(self, patience_s):
        """What it found, when it has ended by itself."""
        try:
            output = self.process.communicate(timeout=patience_s)[0]
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{self.name} didn't end within {patience_s} s") from None
        if self.process.returncode != 0:
            raise RuntimeError(f"{self.name} ended with status {self.process.returncode}")
        return json.loads(output)

    def say(self, patience_s):
        """The next thing that it says, as JSON."""
        guard = threading.Timer(patience_s, self.process.kill)
        guard.start()
        line = self.process.stdout.readline()
        guard.cancel()
        if not line:
            raise RuntimeError(f"{self.name} said nothing within {patience_s} s, or ended")
        return json.loads(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def python(network, place, build, *arguments):
    """A Python program that imports olaf from the build."""
    return Process(network, place, "/usr/bin/python3", *arguments,
                   environment={"PYTHONPATH": str(build / "python"), "PYTHONDONTWRITEBYTECODE": "1"})


def together(setting, at_a_time, jobs, what):
    """{key: [what came of each]} of jobs [(key, function, *arguments)], so many at a time. The first that fails ends all.
    what: key -> what is told of it as it is done."""
    found = {}
    with concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
        under_way = {pool.submit(*job): key for key, *job in jobs}
        try:
            for done, ended in enumerate(concurrent.futures.as_completed(under_way), 1):
                found.setdefault(under_way[ended], []).append(ended.result())
                setting.progress(f"{what(under_way[ended])}, {done} of {len(jobs)}")
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return found


def drained(network, patience_s=30):
    """The statuses once nothing waits in any queue."""
    end = time.monotonic() + patience_s
    while True:
        statuses = network.statuses()
        if not any(status["queue"]["length"] for status in statuses):
            return statuses
        if time.monotonic() > end:
            raise RuntimeError("a queue didn't drain")
        time.sleep(0.1)
