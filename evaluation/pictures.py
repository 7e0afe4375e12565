# SPDX-License-Identifier: BSD-2-Clause
"""How pictures look: one palette, titles, units, spread."""

import matplotlib

matplotlib.use("Agg")  # no screen
import matplotlib.pyplot as plt  # noqa: E402

# Okabe and Ito's: told apart with any colour vision, and in grey. A contender has one colour everywhere.
COLOURS = {"fifo": "#D55E00", "olaf": "#0072B2", "olaf, auto": "#56B4E9", "paper": "#777777", "xagg": "#009E73",
           "user space": "#CC79A7", "tcp": "#E69F00", "none": "#000000"}
OTHERS = ["#009E73", "#CC79A7", "#E69F00", "#F0E442", "#000000"]


def colour(name):
    """A contender's colour; one that nobody knows has always the same of the others."""
    return COLOURS.get(name) or OTHERS[sum(map(ord, name)) % len(OTHERS)]


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


def line(axis, xs, figures, label, style="-"):
    """Medians as a line with markers, quartiles as bars. Figures are spread()s; None is left out."""
    known = [(x, f) for x, f in zip(xs, figures) if f is not None]
    if not known:
        return
    medians = [f["median"] for _, f in known]
    around = [[f["median"] - f["low"] for _, f in known], [f["high"] - f["median"] for _, f in known]]
    axis.errorbar([x for x, _ in known], medians, yerr=around, label=label, color=colour(label), fmt=f"o{style}",
                  markersize=4, capsize=3, linewidth=1.5)


def bars(axis, groups, series, label):
    """A group of bars for each name in `groups`: series is {name: [spread or None]}, drawn side by side."""
    width = 0.8 / max(1, len(series))
    for place, (name, figures) in enumerate(series.items()):
        for group, f in enumerate(figures):
            if f is None:
                continue
            axis.bar(group + (place - (len(series) - 1) / 2) * width, f["median"], width * 0.92, color=colour(name),
                     label=name if group == 0 else None,
                     yerr=[[f["median"] - f["low"]], [f["high"] - f["median"]]], capsize=2, ecolor="#333333")
    axis.set_xticks(range(len(groups)), groups)
    axis.set_ylabel(label)


def save(drawing, directory, name):
    """Writes NAME.png there; returns its path."""
    path = directory / f"{name}.png"
    drawing.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(drawing)
    return path
