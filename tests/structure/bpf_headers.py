# SPDX-License-Identifier: BSD-2-Clause
"""Every header of bpf/ and policies/ compiles by itself: it includes what it uses.

    bpf_headers.py ROOT COMPILER FLAG...
"""
import concurrent.futures
import pathlib
import subprocess
import sys


def fault(root, command, header):
    source = f'#include "{header.relative_to(root)}"\n'
    done = subprocess.run([*command, "-fsyntax-only", "-Wno-unused-function", "-x", "c", "-"],
                          input=source, capture_output=True, text=True, check=False)
    return f"{header}:\n{done.stderr}" if done.returncode else None


def main():
    root = pathlib.Path(sys.argv[1])
    headers = sorted([*root.glob("bpf/**/*.bpf.h"), *root.glob("policies/*.bpf.h")])
    with concurrent.futures.ThreadPoolExecutor() as pool:
        faults = [f for f in pool.map(lambda h: fault(root, sys.argv[2:], h), headers) if f]
    print("\n".join(faults) if faults else f"{len(headers)} headers")
    sys.exit(bool(faults) or not headers)


if __name__ == "__main__":
    main()
