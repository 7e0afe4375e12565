# SPDX-License-Identifier: BSD-2-Clause
"""The folders of endpoints/ include each other in one direction only.

    endpoints_includes.py ROOT

async/ and rounds/ are above wire/, and don't include each other. wire/ includes neither. The public
headers in include/ include only public headers.
"""
import pathlib
import re
import sys

BELOW = {"wire": {"wire"}, "async": {"async", "wire"}, "rounds": {"rounds", "wire"}, "include": set()}
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def faults(endpoints):
    for path in sorted(endpoints.rglob("*.?pp")):
        name = path.relative_to(endpoints)
        if name.parts[0] not in BELOW:
            yield f"{name} lies in a folder that {pathlib.Path(__file__).name} doesn't know"
            continue
        for included in INCLUDE.findall(path.read_text()):
            parts = included.split("/")
            if parts[0] != "endpoints":
                yield f"{name} includes {included} and not \"endpoints/…\""
            elif parts[1] not in BELOW[name.parts[0]]:
                yield f"{name} includes {included}, which lies in a folder that isn't below it"


def main():
    endpoints = pathlib.Path(sys.argv[1], "endpoints")
    if not list(endpoints.rglob("*.cpp")):
        sys.exit(f"{endpoints}: no sources")
    found = list(faults(endpoints))
    print("\n".join(found) if found else "one direction")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
