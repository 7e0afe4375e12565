# SPDX-License-Identifier: BSD-2-Clause
"""The table of protections, read from tests/protections/*.toml.

Each file has some [[row]]s: something that happens on a real network, and what must hold then. A row's
[[row.mutation]]s each take one protection away:

    name    of the mutation, used once
    says    the protection, as docs/protections.md shows it
    file    that is changed
    find    text in it, found exactly once
    put     what stands there instead
    tests   that must fail then: "datapath Suite.Test", "netns All/Suite.Test/Case"
    words   of which what each of them prints must contain one
    tier    the cheapest tier of scripts/test that notices it, and the seconds that tier took until
    seconds   then, as `run --tiers` found them
"""
import collections
import dataclasses
import pathlib
import tomllib

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Mutation:
    row: str
    name: str
    says: str
    file: str
    find: str
    put: str
    tests: tuple
    words: tuple
    tier: str
    seconds: int


def mutations():
    """All of them, in the order of the files. Raises KeyError or TypeError where a field is wrong."""
    found = []
    for path in sorted(HERE.glob("*.toml")):
        for row in tomllib.loads(path.read_text())["row"]:
            for fields in row["mutation"]:
                fields["tests"], fields["words"] = tuple(fields["tests"]), tuple(fields["words"])
                found.append(Mutation(row=row["says"], **fields))
    return found


def page():
    """docs/protections.md, as it should be."""
    lines = [
        "# Protections on a real network",
        "",
        "What [networks.md](networks.md) promises is kept by single lines of code. `tests/protections/run` takes",
        "them away one by one, in an overlay of the tree, and demands that tests fail for it with the right words. A",
        "line here is one such run, seen to fail so on Linux 6.18; add one with each new promise",
        "(`tests/protections/*.toml`). So are the rules that sums of rounds are kept by ([rounds.md](rounds.md)), and",
        "those of workers and servers.",
        "The tier is the cheapest of `scripts/test` that notices the loss ([tests.md](tests.md)), in about so many",
        "seconds; `tests/protections/run --tiers` finds both. The core has a test for each.",
    ]
    tiers = collections.Counter(mutation.tier for mutation in mutations()).most_common()
    lines += ["", f"Of {len(mutations())}: " + ", ".join(f"{count} by `{tier}`" for tier, count in tiers) + "."]
    row = None
    for mutation in mutations():
        if mutation.row != row:
            row = mutation.row
            lines += ["", f"## {row}", "", "| protection | without it fails | tier | s | mutation |", "|---|---|---|---|---|"]
        tests = ", ".join(f"`{test.split(' ', 1)[1]}`" for test in mutation.tests)
        lines.append(f"| {mutation.says} | {tests} | {mutation.tier} | {mutation.seconds} | {mutation.name} |")
    return "\n".join(lines) + "\n"
