# SPDX-License-Identifier: BSD-2-Clause
"""The rooms of bpf/ include each other in one direction only.

    bpf_includes.py ROOT

A room may include what lies in the rooms left of it, and in its own. What lies in bpf/ itself
comes first: every room may include it, and it includes no room. Programs (*.bpf.c) stand above all.
"""
import pathlib
import re
import sys

ROOMS = ["", "packet", "way", "order", "slots", "age", "loss", "depart", "ack", "rounds"]
INCLUDE = re.compile(r'^#include "bpf/([^"]+)"', re.MULTILINE)


def room_of(name):
    return name.split("/")[0] if "/" in name else ""


def faults(bpf):
    for path in sorted(bpf.rglob("*.bpf.h")):
        name = path.relative_to(bpf).as_posix()
        if room_of(name) not in ROOMS:
            yield f"{name} lies in a room that {pathlib.Path(__file__).name} doesn't know"
            continue
        for included in INCLUDE.findall(path.read_text()):
            if ROOMS.index(room_of(included)) > ROOMS.index(room_of(name)):
                yield f"{name} includes {included}, which lies in a room above it"


def main():
    bpf = pathlib.Path(sys.argv[1], "bpf")
    if not list(bpf.rglob("*.bpf.h")):
        sys.exit(f"{bpf}: no headers")
    found = list(faults(bpf))
    print("\n".join(found) if found else "one direction")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
