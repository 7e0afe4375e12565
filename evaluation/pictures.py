# SPDX-License-Identifier: BSD-2-Clause
"""How pictures look: one palette, titles, units, spread."""

import itertools
import statistics

import matplotlib

matplotlib.use("Agg")  # no screen
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.colors import to_rgb  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator  # noqa: E402

# Okabe and Ito's, and Tol's where those are too few: told apart with any colour vision. A contender has one colour
# everywhere, and no two have the same.
COLOURS = {"fifo": "#D55E00", "olaf": "#0072B2", "olaf, auto": "#56B4E9", "olaf, 16 bits": "#12305E",
           "olaf, same clusters": "#6F8FCF", "xagg": "#009E73", "AF_XDP": "#CC79A7", "UDP": "#A39300", "tcp": "#E69F00",
           "tcp, one a segment": "#7F4F24", "none": "#000000", "drop": "#888888",
           "olaf, 1 of 3 leaves": "#0173B5", "olaf, 1 of 10 leaves": "#7FC4EE",
           "xagg, 1 of 3 leaves": "#00A078", "xagg, 1 of 10 leaves": "#66D9B8",
           "olaf, 60 : 40": "#85BFEA", "olaf, 60 : 20": "#1C78B8", "olaf, 60 : 5": "#0A2B4C",
           "olaf, auto, 60 : 40": "#DDB8E8", "olaf, auto, 60 : 20": "#A052B8",
           "olaf, auto, 60 : 5": "#4C1566",
           "urgent": "#882255", "fair": "#44AA99", "pause": "#C7B03C",
           "asynchronous": "#1F6FB2", "gather": "#B5651D", "gather, 8 times the step": "#E8B27A",
           "in step": "#3F7F3F", "in step, 8 times the step": "#9AD19A",
           "1 worker": "#C9C2E8", "2 workers": "#9585CF", "4 workers": "#6247B2", "8 workers": "#2F1380",
           "no queue": "#222222", "olaf, loss of 56 %": "#0A5FA0", "olaf, loss of 74 %": "#62A8E5",
           "fifo, loss of 56 %": "#B84A00", "fifo, loss of 74 %": "#F08C4A",
           "a step a message": "#A0307F", "answers to the sender": "#D8A6C8", "reward filter": "#4D4D99",
           "gated rule": "#5FA8A0", "the paper's rule": "#999933",
           "parameter server": "#AA4499", "ring": "#EECC66", "rounds": "#004488",
           "here": "#1565A9", "the paper": "#BBBBBB",
           "i32x2": "#332288", "i16x4": "#117733", "i16x4, feedback": "#DDCC77", "i16x4, stochastic": "#CC6677"}
# Of those that are lines with points: a grey print tells them apart, too.
MARKERS = {"fifo": "o", "olaf": "s", "olaf, auto": "D", "olaf, 16 bits": "^", "xagg": "v",
           "AF_XDP": "P", "UDP": "*", "tcp": "X", "tcp, one a segment": "h", "none": "<", "urgent": ">",
           "olaf, 1 of 3 leaves": "p", "olaf, 1 of 10 leaves": "d",
           "xagg, 1 of 3 leaves": "H", "xagg, 1 of 10 leaves": "8"}
ALIKE = 60  # two colours of one picture differ by more in red, green and blue together, of 255 each


def colour(name):
    """A contender's. Two in one picture may not look alike, so one that has none is a mistake."""
    return COLOURS[name]


def apart(one, other):
    """By how much two colours differ."""
    return sum(abs(mine - theirs) * 255 for mine, theirs in zip(to_rgb(one), to_rgb(other)))


def refuse_alike(names):
    """ValueError if two of a picture's series have colours that look alike, or one marker."""
    for one, other in itertools.combinations(names, 2):
        if apart(colour(one), colour(other)) <= ALIKE:
            raise ValueError(f"'{one}' and '{other}' look alike in one picture")
        if one in MARKERS and MARKERS[one] == MARKERS.get(other):
            raise ValueError(f"'{one}' and '{other}' have one marker in one picture")


def figure(panels=1, width=10, height=4.2, title=""):
    """A figure of so many panels side by side, and the list of them."""
    drawing, axes = plt.subplots(1, panels, figsize=(width, height), squeeze=False, layout="constrained")
    if title:
        drawing.suptitle(title, x=0.01, ha="left", fontsize=12)
    for axis in axes[0]:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", color="#dddddd", linewidth=0.8)
        axis.set_axisbelow(True)
    return drawing, list(axes[0])


def short(number):
    """"0.05", "3", "10k", "2M": a tick's label."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if abs(number) >= 10 * size or (abs(number) >= size and number % size == 0):
            return f"{number / size:g}{unit}"
    return f"{number:g}"


def logarithmic(axis, which, ticks=None):
    """A log scale whose ticks are readable numbers: those given, unless they are too close, or 1, 2 and 5 of each decade (1 alone
    where there are many)."""
    (axis.set_xscale if which == "x" else axis.set_yscale)("log")
    of = axis.xaxis if which == "x" else axis.yaxis
    low, high = of.get_view_interval()
    subs = (1.0,) if high > 1e3 * max(low, 1e-9) else (1.0, 2.0, 5.0)
    of.set_major_locator(LogLocator(subs=subs, numticks=20))
    of.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    of.set_minor_locator(NullLocator())
    of.set_minor_formatter(NullFormatter())
    if ticks:
        apart = [tick for place, tick in enumerate(ticks) if place == 0 or tick >= 1.4 * ticks[place - 1]]
        (axis.set_xticks if which == "x" else axis.set_yticks)(apart, [f"{tick:,}" for tick in apart])


def legend(axes):
    """One legend for all panels, to the right of the last, where it covers nothing."""
    found = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            found.setdefault(label, handle)
    refuse_alike(found)
    axes[-1].legend(found.values(), found, frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0))


def line(axis, xs, figures, label, style="-"):
    """Medians as a line with markers, quartiles as bars. Figures are spread()s; None is left out."""
    known = [(x, f) for x, f in zip(xs, figures) if f is not None]
    if not known:
        return
    medians = [f["median"] for _, f in known]
    around = [[f["median"] - f["low"] for _, f in known], [f["high"] - f["median"] for _, f in known]]
    axis.errorbar([x for x, _ in known], medians, yerr=around, label=label, color=colour(label), fmt=f"{MARKERS[label]}{style}",
                  markersize=4.5, capsize=3, linewidth=1.5)


def bar(axis, x, width, f, name, label):
    if f is not None:
        axis.bar(x, f["median"], width * 0.92, color=colour(name), label=label,
                 yerr=[[f["median"] - f["low"]], [f["high"] - f["median"]]], capsize=2, ecolor="#333333")


def bars(axis, groups, series, label):
    """A group of bars for each name in `groups`: series is {name: [spread or None]}, drawn side by side."""
    width = 0.8 / max(1, len(series))
    for place, (name, figures) in enumerate(series.items()):
        for group, f in enumerate(figures):
            bar(axis, group + (place - (len(series) - 1) / 2) * width, width, f, name, name if group == 0 else None)
    axis.set_xticks(range(len(groups)), groups)
    axis.set_ylabel(label)


def named_bars(axis, figures, label):
    """A bar for each of {name: spread or None}, with its name below it."""
    refuse_alike(figures)
    for place, (name, f) in enumerate(figures.items()):
        bar(axis, place, 0.8, f, name, None)
    axis.set_xticks(range(len(figures)), [name.replace(", ", ",\n") for name in figures])
    axis.set_ylabel(label)


def band(axis, xs, lows, highs, name):
    """Where half of the runs lie, around a step line."""
    axis.fill_between(xs, lows, highs, step="post", color=colour(name), alpha=0.25, linewidth=0)


def learning(axis, xs, runs, name):
    """The mean of several runs' curves, and one standard deviation around it. All have as many points as the shortest."""
    points = min(map(len, (xs, *runs)))
    columns = list(zip(*(run[:points] for run in runs)))
    means = [statistics.fmean(column) for column in columns]
    around = [statistics.pstdev(column) for column in columns]
    axis.plot(xs[:points], means, label=name, color=colour(name), linewidth=1.5)
    axis.fill_between(xs[:points], [mean - by for mean, by in zip(means, around)], [mean + by for mean, by in zip(means, around)],
                      color=colour(name), alpha=0.15, linewidth=0)


def save(drawing, directory, name):
    """Writes NAME.png there; returns its path."""
    path = directory / f"{name}.png"
    drawing.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(drawing)
    return path
