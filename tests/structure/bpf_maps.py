# SPDX-License-Identifier: BSD-2-Clause
"""A BPF object carries only the maps that its programs use.

    bpf_maps.py OBJECT...

A map that nobody uses still takes memory and a pin, and says that the programs touch what they
don't. Which maps there are is read from the symbols, which are used from the relocations.
"""
import re
import subprocess
import sys


def readelf(option, path):
    return subprocess.run(["readelf", option, "--wide", path], check=True, capture_output=True,
                          text=True).stdout


def carried(path):
    section = re.search(r"^ *\[ *(\d+)\] \.maps ", readelf("--sections", path), re.MULTILINE)
    if not section:
        return set()
    symbol = re.compile(rf"OBJECT +GLOBAL +DEFAULT +{section[1]} (\w+)$", re.MULTILINE)
    return set(symbol.findall(readelf("--symbols", path)))


def used(path):
    names, counts = set(), False
    for line in readelf("--relocs", path).splitlines():
        if line.startswith("Relocation section"):
            counts = not re.search(r"'\.rel\.(BTF|debug)", line)
        elif counts and line.split():
            names.add(line.split()[-1])
    return names


def main():
    faults = []
    for path in sys.argv[1:]:
        maps = carried(path)
        if not maps:
            faults.append(f"{path}: no maps found")
        faults += [f"{path}: carries {name} and doesn't use it" for name in sorted(maps - used(path))]
    print("\n".join(faults) if faults else f"{len(sys.argv) - 1} objects")
    sys.exit(bool(faults) or len(sys.argv) < 2)


if __name__ == "__main__":
    main()
