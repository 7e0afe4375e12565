#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks that each fault of tests/interleave/mutants.cmake still has its one place in the sources. The tier
`interleave`, which seeds them, isn't part of the core: a change to bpf/ would otherwise break it unseen.
Usage: seeds.py SOURCE_DIR"""

import pathlib
import re
import sys

MUTANT = re.compile(
    r"^olaf_mutant\((?P<name>\w+)\n.*?^  FILE (?P<file>\S+) .*?^  FROM \[==\[\n(?P<text>.*?)\]==\]",
    re.MULTILINE | re.DOTALL,
)


def main() -> int:
    source = pathlib.Path(sys.argv[1])
    table = (source / "tests/interleave/mutants.cmake").read_text()
    mutants = list(MUTANT.finditer(table))
    listed = table.count("\nolaf_mutant(")
    if len(mutants) != listed:
        print(f"tests/interleave/mutants.cmake: {len(mutants)} of {listed} mutants can be read")
        return 1
    lost = 0
    for mutant in mutants:
        places = (source / mutant["file"]).read_text().count(mutant["text"])
        if places != 1:
            print(f"{mutant['file']}: the fault {mutant['name']} has {places} places there, not one:")
            print(mutant["text"])
            lost += 1
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
