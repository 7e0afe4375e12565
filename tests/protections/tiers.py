# SPDX-License-Identifier: BSD-2-Clause
"""The cheapest tier of scripts/test that notices a mutation, and the seconds that it takes.

A mutation is tried against the tiers that can see its file, cheapest first. A tier stops at its first
failure, and begins with the tests that the table names.
"""
import os
import pathlib
import re
import subprocess
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATAPATH = "build/tests/datapath/olaf_datapath_tests"

# tier: (folders whose faults it can see, targets to build, seconds that a run may take)
TIERS = {
    "unit": (("loader", "endpoints", "policies", "include"), ["olaf_unit_tests", "olaf_described"], 600),
    "model": (("endpoints", "include"), ["olaf_unit_tests", "olaf_described"], 600),
    "datapath": (("bpf", "loader", "policies", "include"), ["olaf_datapath_tests"], 600),
    "netns": (("bpf", "loader", "endpoints", "policies", "include"), ["olaf_command", "olaf_netns_tests"], 1500),
    "network": (("bpf", "loader", "endpoints", "policies", "include"),
                ["olaf_command", "olaf_netns_tests", "olaf_network_tests"], 1500),
}


def ctest(*arguments, seconds):
    """Runs ctest in build/. Returns the name of the first test that failed, or None."""
    report = ROOT / "build/protections.xml"
    report.unlink(missing_ok=True)
    try:
        subprocess.run(["ctest", "--test-dir", "build", "-j2", "--timeout", "240", "--stop-on-failure",
                        "--output-junit", str(report), *arguments], cwd=ROOT, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return "(didn't end)"
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        if case.get("status") == "fail":
            return case.get("name")
    return None


def names_of(label):
    """The tests that a tier of ctest has."""
    listed = subprocess.run(["ctest", "--test-dir", "build", "-N", "-L", f"^{label}$"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"Test +#\d+: (\S+)", listed))


def run_datapath(named, seconds):
    """The name of the first test of the data path that failed, with the core's steps, or None. Behind the named
    ones come those beside the models: they see most in the shortest time."""
    models = "*Differential*:*Chain*"
    return ((named and run_datapath_tests(":".join(named), seconds)) or run_datapath_tests(models, seconds) or
            run_datapath_tests(f"-{models}", seconds))


def run_datapath_tests(names, seconds):
    try:
        ran = subprocess.run([DATAPATH, "--gtest_fail_fast", "--gtest_brief=1", f"--gtest_filter={names}"], cwd=ROOT,
                             env={**os.environ, "OLAF_STEPS": "20000"}, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace", timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return "(didn't end)"
    failed = re.search(r"^\[  FAILED  \] ([^\s,]+)", ran.stdout, re.MULTILINE)
    return failed[1] if failed else None if ran.returncode == 0 else "(crashed)"


def run_tier(tier, named, seconds):
    """The same for a tier of ctest."""
    there = names_of(tier)
    first = [name for name in named if name in there]
    if first:
        failed = ctest("-R", "^(" + "|".join(map(re.escape, first)) + ")$", seconds=seconds)
        if failed:
            return failed
    return ctest("-L", f"^{tier}$", seconds=seconds)


def find(mutation, build):
    """A line about a mutation, which is applied: its name, the tier, its seconds and the test; or UNNOTICED.

    build(targets) says what went wrong, or nothing.
    """
    named = [test.split(" ", 1)[1] for test in mutation.tests]
    of_datapath = [test.split(" ", 1)[1] for test in mutation.tests if test.startswith("datapath ")]
    for tier, (folders, targets, seconds) in TIERS.items():
        if mutation.file.split("/")[0] not in folders:
            continue
        if build(targets):
            return f"OTHERWISE {mutation.name}: doesn't build"
        began = time.monotonic()
        failed = run_datapath(of_datapath, seconds) if tier == "datapath" else run_tier(tier, named, seconds)
        if failed:
            return f"found {mutation.name} {tier} {time.monotonic() - began:.0f} {failed}"
    return f"UNNOTICED {mutation.name}"
