# SPDX-License-Identifier: BSD-2-Clause
"""Runs bench/stream: one stream of updates through one contender, measured and checked there."""

import json
import subprocess

from evaluation.spread import spread


UNSETTLED = 4  # tries
# What olaf_bench_stream says where neighbours take the CPUs. That measures nothing, so it begins anew.
DISTURBED = ("so many updates leave as were asked for", "generators have their CPUs at the same time", "the rate settles while measured")


def stream(setting, contender, **options):
    """One run's figures as olaf_bench_stream prints them. Raises RuntimeError with its error."""
    command = [setting.program("bench/stream/olaf_bench_stream"), contender]
    for name, value in options.items():
        if value is True:
            command.append(f"--{name}")
        elif value is not False:
            command += [f"--{name}", str(value)]
    for _ in range(UNSETTLED):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if not any(what in done.stderr for what in DISTURBED):
            break
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return json.loads(done.stdout)


def in_turns(setting, cases, turns):
    """{case: [figures of each turn]} of [(case, contender, options)]. Every turn has all cases, so that what
    disturbs the machine for a while disturbs all of them."""
    found = {}
    for turn in range(turns):
        for number, (case, contender, options) in enumerate(cases, 1):
            setting.progress(f"turn {turn + 1} of {turns}, {number} of {len(cases)}: {contender}")
            found.setdefault(case, []).append(stream(setting, contender, **options))
    return found


def of(runs, *keys):
    """The spread of a figure over runs; keys lead to it. None where a run hasn't got it."""
    values = []
    for run in runs:
        for key in keys:
            run = run.get(key) if isinstance(run, dict) else None
        values.append(run)
    return spread(values)


def ratio(runs, others, key):
    """The spread of a figure over another contender's, turn by turn."""
    return spread([run[key] / other[key] for run, other in zip(runs, others) if run[key] and other[key]])
