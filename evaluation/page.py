# SPDX-License-Identifier: BSD-2-Clause
"""docs/evaluation.md: a table that a reader takes away, then a section for each experiment. Only what was
run is replaced; the rest of the page stays as it is."""

import re

OPENING = """# Evaluation

What the papers measured, measured here on the real data path: network namespaces, veth links, shaped rates, the
programs that `olaf attach` loads. Nothing is simulated.

```
sudo scripts/evaluate                 # all of it: under an hour
sudo scripts/evaluate --quick         # a first look at all of it: under five minutes, with wide spreads
sudo scripts/evaluate microbenchmark  # one of them; --list names them
```

It writes `results/NAME.json` and pictures, and the sections of this page that it ran. Every figure is a ratio, a
percentage or an age: median of repeated runs, with the quartiles in brackets. Absolute rates are this machine's.

## What to take away

| experiment | what | the paper | here |
|---|---|---|---|
"""


def anchor(title):
    """The link to a heading, as forges make it."""
    return "#" + re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def place_line(machine, runs):
    return (f"*{machine['date']}, {machine['cpus']} CPUs ({machine['model']}), Linux {machine['kernel']}, load "
            f"{machine['load']} before it; {runs}.*")


def parts(text):
    """{name: its section}, and {name: its rows of the opening table}, of a page as written by rebuild()."""
    sections = dict(re.findall(r"<!-- begin (\w+) -->\n(.*?)<!-- end \1 -->\n", text, re.S))
    rows = {}
    for line in text.splitlines():
        if of := re.match(r"\| \[.*?\]\(#.*?\) <!-- (\w+) -->", line):
            rows.setdefault(of[1], []).append(line)
    return sections, rows


def rows_of(name, title, found):
    return [f"| [{title}]({anchor(title)}) <!-- {name} --> | {what} | {paper} | {here} |" for what, paper, here in found]


def section(experiment, result):
    head = f"## {experiment.TITLE}\n\n{experiment.SOURCE}. {place_line(result['machine'], result['effort'])}\n\n"
    return head + experiment.page(result).strip() + "\n"


def rebuild(path, known, results):
    """Writes the page anew. known: {name: experiment}, in the page's order; results: {name: result} of what was run.
    An experiment may have takeaway(result) -> [(what, the paper's, ours)] for the opening table."""
    sections, rows = parts(path.read_text(encoding="utf-8")) if path.exists() else ({}, {})
    for name, result in results.items():
        experiment = known[name]
        sections[name] = section(experiment, result)
        rows[name] = rows_of(name, experiment.TITLE, getattr(experiment, "takeaway", lambda _: [])(result))
    page = OPENING + "".join(row + "\n" for name in known for row in rows.get(name, []))
    for name in known:
        if name in sections:
            page += f"\n<!-- begin {name} -->\n{sections[name]}<!-- end {name} -->\n"
    path.write_text(page, encoding="utf-8")
