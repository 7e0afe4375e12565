# SPDX-License-Identifier: BSD-2-Clause
"""docs/evaluation.md: a line for each claim, a table of figures, then a section for each experiment. Only what was
run is replaced; the rest of the page stays as it is."""

import re
import textwrap

OPENING = """# Evaluation

What the papers measured, measured here on the real data path: network namespaces, veth links, shaped rates, the
programs that `olaf attach` loads. Nothing is simulated.

```
sudo scripts/evaluate                 # all of it: under an hour and a half
sudo scripts/evaluate --quick         # a first look at all of it: six minutes, with wide spreads
sudo scripts/evaluate microbenchmark  # one of them; --list names them
```

It writes `results/NAME.json` and pictures, and the sections of this page that it ran. `--redraw` makes pictures
and sections anew from the results, without a run. Ratios, percentages and ages carry over to other machines.
Rates, times and bytes are this machine's; they stand where the papers have such figures too.

A figure is the median of repeated runs. The quartiles stand in brackets: half of the runs lie between them. Without
brackets both round to the median. Three runs have no quartiles of their own: those are interpolated, each halfway
from the median to one of the other two runs.

## In one minute

"""

FIGURES = """
## What to take away

*XAgg* is its Algorithm 1 as an XDP program. *1 of 3 leaves*: the queue lets out one message for three updates that come in.
*Targets* are this project's own, and are held against the median.
That of a fold alone (at most 0.6 of the time of XAgg's) is in [benchmarks.md](benchmarks.md).

| experiment | what | the papers | here | target |
|---|---|---|---|---|
"""


def anchor(title):
    """The link to a heading, as forges make it."""
    return "#" + re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def place_line(machine, runs, mode=None, minutes=None):
    """Where and when it ran, in which mode XDP was, and how long it took. Ages and rates of a
    machine with other work to do are that work's, too: then it says so."""
    busy = " **The machine was busy with other work: a first look, not a result.**" if machine["load"] > machine["cpus"] / 2 else ""
    xdp = f"; {mode} XDP" if mode else ""
    took = f"; {minutes:g} minutes" if minutes else ""
    return (f"*{machine['date']}, {machine['cpus']} CPUs ({machine['model']}), Linux {machine['kernel']}, load "
            f"{machine['load']} before it; {runs}{xdp}{took}.*{busy}")


def parts(text):
    """{name: its section}, {name: its claims} and {name: its rows of the opening table}, of a page as written by rebuild()."""
    sections = dict(re.findall(r"<!-- begin (\w+) -->\n(.*?)<!-- end \1 -->\n", text, re.S))
    claims, rows = {}, {}
    for line in text.splitlines():
        if of := re.match(r"- .* <!-- claim (\w+) -->$", line):
            claims.setdefault(of[1], []).append(line)
        if of := re.match(r"\| \[.*?\]\(#.*?\) <!-- (\w+) -->", line):
            rows.setdefault(of[1], []).append(line)
    return sections, claims, rows


def rows_of(name, experiment, found):
    """found: [(what, the papers', ours)], with a target and whether it is reached behind that where there is one."""
    link = f"[{getattr(experiment, 'SHORT', experiment.TITLE)}]({anchor(experiment.TITLE)}) <!-- {name} -->"
    return ["| " + " | ".join((link, *row, *["–"] * (4 - len(row)))) + " |" for row in found]


def wrapped(text):
    """Its paragraphs and list items in lines of at most 100 characters; tables, headings, pictures and blocks of
    code as they are."""
    out, block, code = [], [], False

    def end():
        if block:
            indent = "  " if block[0].startswith("- ") else ""
            # No line may begin with what Markdown takes for a list or a heading.
            whole = re.sub(r" (?=(?:[-+*#>]+|\d+[.)]) )", "\0", " ".join(block))
            lines = textwrap.wrap(whole, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
            out.extend(line.replace("\0", " ") for line in lines)
            block.clear()

    for line in text.split("\n"):
        fence = line.startswith("```")
        if code or fence or not line or line[0] in "|#!<":
            end()
            out.append(line)
            code ^= fence
        else:
            if line.startswith("- "):
                end()
            block.append(line.strip())
    end()
    return "\n".join(out)


def section(experiment, result):
    place = place_line(result["machine"], result["effort"], result.get("mode"), result.get("minutes"))
    head = f"## {experiment.TITLE}\n\n{experiment.SOURCE}. {place}\n\n"
    return wrapped(head + experiment.page(result).strip()) + "\n"


def rebuild(path, known, results):
    """Writes the page anew. known: {name: experiment}, in the page's order; results: {name: result} of what was run.
    An experiment may have claims(result), a sentence or two each, with the paper's figure and ours, for a reader who has a
    minute; takeaway(result), as rows_of() takes it, for the table behind them; and SHORT, its name there."""
    sections, claims, rows = parts(path.read_text(encoding="utf-8")) if path.exists() else ({}, {}, {})
    for name, result in results.items():
        experiment = known[name]
        sections[name] = section(experiment, result)
        claims[name] = [f"- {claim} <!-- claim {name} -->" for claim in getattr(experiment, "claims", lambda _: [])(result)]
        rows[name] = rows_of(name, experiment, getattr(experiment, "takeaway", lambda _: [])(result))
    page = "".join([OPENING, *(claim + "\n" for name in known for claim in claims.get(name, [])), FIGURES,
                    *(row + "\n" for name in known for row in rows.get(name, []))])
    for name in known:
        if name in sections:
            page += f"\n<!-- begin {name} -->\n{sections[name]}<!-- end {name} -->\n"
    path.write_text(page, encoding="utf-8")
