# SPDX-License-Identifier: BSD-2-Clause
"""The folders of bpf/, loader/ and endpoints/ include each other in one direction only.

    includes.py ROOT

A file includes its own folder and those that are named below it, and headers don't include each other in a circle.
What lies in bpf/ or fleet/ itself is below all its folders; programs (*.bpf.c) stand above them. The public headers of
endpoints/include include public headers only. Every file of endpoints/ names the others by their path from ROOT.
"""
import pathlib
import re
import sys

BPF = ["", "packet", "way", "order", "slots", "age", "loss", "depart", "ack", "rounds"]
LOADER = ["text", "host", "datapath", "card", "attachment", "observe", "traffic", "commands", "cli", "describe"]
BELOW = {
    "fleet": {"": [""], "plan": ["", "plan"], "admit": ["", "plan", "admit"]},
    "bpf": {folder: BPF[:i + 1] for i, folder in enumerate(BPF)},
    "loader": {folder: LOADER[:i + 1] for i, folder in enumerate(LOADER)},
    "endpoints": {"wire": ["wire"], "async": ["wire", "async"], "rounds": ["wire", "rounds"], "include": []},
}
SOURCES = {"fleet": r"\.[ch]pp$", "bpf": r"\.bpf\.h$", "loader": r"\.[ch]pp(\.in)?$", "endpoints": r"\.[ch]pp$"}
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def included(root, path):
    """(as written, the file): what lies in ROOT or beside `path`."""
    for name in INCLUDE.findall(path.read_text()):
        for base in (path.parent, root):
            if (base / name).is_file():
                yield name, (base / name).resolve()


def circle(path, headers, way=()):
    if path in way:
        return [" -> ".join(p.name for p in (*way[way.index(path):], path)) + ": a circle"]
    return [fault for other in headers.pop(path, []) for fault in circle(other, headers, (*way, path))]


def faults(root, part):
    top = root / part
    sources = [p for p in sorted(top.rglob("*")) if re.search(SOURCES[part], p.name)]
    headers = {p: [other for _, other in included(root, p)] for p in sources if p.suffix in (".h", ".hpp")}

    def folder_of(path):
        parts = path.relative_to(top).parts
        return parts[0] if len(parts) > 1 else ""

    if not sources:
        yield f"{top}: no sources"
    for path in sources:
        below = BELOW[part].get(folder_of(path))
        if below is None:
            yield f"{path} lies in a folder that {pathlib.Path(__file__).name} doesn't know"
            continue
        for name, other in included(root, path):
            if part == "endpoints" and not name.startswith("endpoints/"):
                yield f'{path} includes {name} and not "endpoints/…"'
            elif top in other.parents and folder_of(other) not in below:
                yield f"{path} includes {name}, which lies in a folder that isn't below it"
    for path in list(headers):
        yield from circle(path, headers)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found = [fault for part in BELOW for fault in faults(root, part)]
    print("\n".join(found) if found else "one direction")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
