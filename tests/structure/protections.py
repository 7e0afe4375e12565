# SPDX-License-Identifier: BSD-2-Clause
"""The table of protections (tests/protections) fits the tree.

    protections.py ROOT

Each mutation's text occurs once in its file, each named test is in the sources of its tier, names are
used once, and docs/protections.md is what the table makes of itself. The core of the tests has one for each.
"""
import fnmatch
import pathlib
import re
import sys

TIERS = {"datapath": "datapath", "netns": "netns", "model": "model", "host": "unit", "cli": "unit",
         "endpoints": "unit", "collective": "unit", "loader": "unit"}


def sources(root, tier):
    return "\n".join(path.read_text() for path in sorted((root / "tests" / TIERS[tier]).glob("*.cpp")))


def test_faults(texts, test):
    tier, name = test.split(" ", 1)
    parts = [part for part in name.split("/") if part != "*"]
    suite_and_test = [part for part in parts if "." in part]
    if tier not in texts or len(suite_and_test) != 1:
        yield f"{test}: no such tier, or no Suite.Test"
        return
    suite, case = suite_and_test[0].split(".")
    if not re.search(rf"\bTEST(?:_F|_P)?\({suite},\s*{case}\)", texts[tier]):
        yield f"{test}: not in tests/{TIERS[tier]}"


def left_to_network(root):
    """Whether a test of tests/netns is left to the tier `network`, as its CMakeLists.txt says."""
    text = (root / "tests/netns/CMakeLists.txt").read_text()
    only_network, network, guards = (
        re.search(rf"^set\({name}\s([^)]*)\)", text, re.MULTILINE)[1].split()
        for name in ("only_network", "network", "guards"))
    apart = {suite for file in only_network
             for suite in re.findall(r"\bTEST(?:_F|_P)?\((\w+),", (root / "tests/netns" / file).read_text())}

    def is_left(test):
        if any(fnmatch.fnmatchcase(test, pattern) for pattern in guards):
            return False
        return (test.split(".")[0].split("/")[-1] in apart or
                any(fnmatch.fnmatchcase(test, pattern) for pattern in network))

    return is_left


def tier_faults(mutation, is_left):
    if mutation.tier not in ("unit", "model", "datapath", "netns"):
        yield f"{mutation.name}: the core has no tier {mutation.tier}"
    elif mutation.tier == "netns" and all(is_left(test.split(" ", 1)[1]) for test in mutation.tests):
        yield f"{mutation.name}: tests/netns/CMakeLists.txt leaves its tests to `network`; add one to the guards"


def faults(root, table):
    is_left = left_to_network(root)
    texts = {tier: sources(root, tier) for tier in TIERS}
    names = set()
    for mutation in table.mutations():
        if mutation.name in names:
            yield f"{mutation.name}: twice"
        names.add(mutation.name)
        path = root / mutation.file
        found = path.read_text().count(mutation.find) if path.exists() else 0
        if found != 1:
            yield f"{mutation.name}: its text is {found} times in {mutation.file}"
        if mutation.find == mutation.put or not all(mutation.words) or not mutation.words or not mutation.tests:
            yield f"{mutation.name}: changes nothing, or names no tests or words"
        yield from tier_faults(mutation, is_left)
        for test in mutation.tests:
            yield from (f"{mutation.name}: {fault}" for fault in test_faults(texts, test))
    if (root / "docs/protections.md").read_text() != table.page():
        yield "docs/protections.md: make it anew: tests/protections/run --page > docs/protections.md"


def main():
    root = pathlib.Path(sys.argv[1])
    sys.path.insert(0, str(root / "tests/protections"))
    import table  # beside the program that uses it most

    found = list(faults(root, table))
    print("\n".join(found) if found else f"{len(table.mutations())} mutations")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
