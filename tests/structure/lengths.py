# SPDX-License-Identifier: BSD-2-Clause
"""No source file has more than 300 lines, and no function more than 60.

    lengths.py ROOT

C++ is read as clang-format leaves it: a function's last line is a brace as far indented as its
first line. In C, kernel style, both braces stand at the margin. Stubs of Python (*.pyi) declare and
do nothing, so they may be longer.
"""
import ast
import pathlib
import re
import subprocess
import sys

MOST_LINES = 300
MOST_OF_A_FUNCTION = 60

C = {".c", ".h", ".cpp", ".hpp"}
OTHERS = {".py", ".js", ".sh"}
# "name(...) const {", also at the end of a declaration of several lines; nothing else that opens a block.
OPENS = re.compile(r"\)(?: const| noexcept| override|\s*->.*|\s*:.*)*\s*\{$")
NO_FUNCTION = re.compile(r"\s*(?:if|else|for|while|switch|do|return|case|\}|.*\[[^]]*\]\s*\(|.*= )")


def cpp_functions(lines):
    for start, line in enumerate(lines):
        if not OPENS.search(line) or NO_FUNCTION.match(line):
            continue
        indent = len(line) - len(line.lstrip())
        for end in range(start + 1, len(lines)):
            if re.match(rf"\s{{0,{indent}}}\}}", lines[end]):
                yield start, end
                break


def c_functions(lines):
    for start, line in enumerate(lines):
        if line == "{" and "}" in lines[start:]:
            yield start, lines.index("}", start)


def shell_functions(lines):
    for start, line in enumerate(lines):
        if re.fullmatch(r"\w+\(\) \{", line) and "}" in lines[start:]:
            yield start, lines.index("}", start)


def python_functions(lines):
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno - 1, node.end_lineno - 1


def functions_of(path, lines):
    if path.suffix in {".cpp", ".hpp"}:
        return cpp_functions(lines)
    if path.suffix in C:
        return c_functions(lines)
    if path.suffix == ".py" or "python" in lines[0]:
        return python_functions(lines)
    return shell_functions(lines)


def sources(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=False)
    if listed.returncode == 0:
        names = [pathlib.Path(root, name.decode()) for name in listed.stdout.split(b"\0") if name]
    else:  # a copy without its history
        names = [p for p in pathlib.Path(root).rglob("*")
                 if not re.match(r"(build|out|\.git)", p.relative_to(root).parts[0])]
    for path in sorted(names):
        if not path.is_file() or path.is_symlink():
            continue
        if path.suffix in C | OTHERS:
            yield path
        elif not path.suffix:
            with path.open("rb") as file:
                if file.read(2) == b"#!":
                    yield path


def main(root):
    found = seen = 0
    for path in sources(root):
        seen += 1
        name = path.relative_to(root).as_posix()
        lines = path.read_text().splitlines()
        if len(lines) > MOST_LINES:
            print(f"{name} has {len(lines)} lines")
            found += 1
        for begin, end in functions_of(path, lines):
            if end - begin + 1 > MOST_OF_A_FUNCTION:
                print(f"{name}:{begin + 1}: a function of {end - begin + 1} lines")
                found += 1
    return found != 0 or seen < 100


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
