#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""patterns.py PROGRAM PATTERN...: each pattern matches a test of the GoogleTest program.

A pattern of tests/netns/CMakeLists.txt that matches nothing, after a test was renamed, would
silently take a test out of a tier, or put it into one.
"""
import fnmatch
import subprocess
import sys


def tests(program):
    """Suite.Test of each test; the list has suites at the margin and tests indented."""
    listed = subprocess.run([program, "--gtest_list_tests"], check=True, capture_output=True, text=True)
    suite = ""
    for line in listed.stdout.splitlines():
        name = line.split("#")[0].rstrip()
        if name.startswith("  "):
            yield suite + name.strip()
        else:
            suite = name


def main():
    program, *patterns = sys.argv[1:]
    names = list(tests(program))
    unmatched = [pattern for pattern in patterns if not fnmatch.filter(names, pattern)]
    for pattern in unmatched:
        print(f"{pattern}: no test of {program} has such a name")
    print(f"{len(patterns)} patterns, {len(names)} tests")
    return 1 if unmatched or not patterns or not names else 0


if __name__ == "__main__":
    sys.exit(main())
