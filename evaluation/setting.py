# SPDX-License-Identifier: BSD-2-Clause
"""What an experiment is run with: how much of it, where its files go, and how it tells of itself."""

import dataclasses
import datetime
import os
import pathlib
import platform
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


@dataclasses.dataclass
class Setting:
    """Given to each experiment's run()."""

    quick: bool = False  # under a minute for one experiment
    brief: bool = False  # quick, and no more than one case, for a test of the command
    runs: int | None = None  # as asked for; None: as many as the experiment wants
    directory: pathlib.Path = ROOT / "results"  # for files besides results/NAME.json
    build: pathlib.Path = ROOT / "build"
    name: str = ""  # of the experiment that runs
    started: float = dataclasses.field(default_factory=time.monotonic)

    def repeats(self, quick, usual):
        """How many runs of each case: as asked for, else by whether it is to be quick."""
        return self.runs or (quick if self.quick else usual)

    def program(self, path, packages=None):
        """A program of the build, or a RuntimeError that says how to make it: it isn't built without that group of packages."""
        found = self.build / path
        if not found.exists():
            install = f"sudo scripts/install-packages {packages} && " if packages else ""
            raise RuntimeError(f"{found} isn't there; run: {install}cmake --preset release && ninja -C {self.build}")
        return str(found)

    def progress(self, text):
        """A line that rewrites itself on a terminal; elsewhere a line each."""
        line = f"{time.monotonic() - self.started:6.0f} s  {self.name}: {text}"
        if sys.stderr.isatty():
            print(f"\r{line[:110]:110}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)


def machine():
    """Where and when figures were taken."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return {"kernel": platform.release(), "cpus": os.cpu_count(), "model": models[0] if models else platform.machine(),
            "load": round(os.getloadavg()[0], 2), "date": datetime.date.today().isoformat()}
