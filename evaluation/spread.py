# SPDX-License-Identifier: BSD-2-Clause
"""Figures of repeated runs: median and quartiles, as data and as text."""

import random
import statistics

RESAMPLINGS = 4_000


def spread(values):
    """{median, low, high, least, runs} of numbers: low and high are the quartiles; None where nothing was measured."""
    values = [value for value in values if value is not None]
    if not values:
        return None
    if len(values) == 1:
        low = high = values[0]
    else:
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": statistics.median(values), "low": low, "high": high, "least": min(values), "runs": len(values)}


def written(number, digits):
    """A number with a minus sign instead of a hyphen, and none before a zero."""
    found = f"{number:.{digits}f}"
    return found.lstrip("-") if not found.strip("-0.") else found.replace("-", "−")


def text(figure, digits=1):
    """"12.3 (11.9–12.8)", "−54 (−55 to −53)", or one number where the quartiles round to the median; "–" for nothing."""
    if figure is None:
        return "–"
    median, low, high = (written(figure[key], digits) for key in ("median", "low", "high"))
    return median if low == median == high else f"{median} ({low}{' to ' if '−' in low + high else '–'}{high})"


def scaled(figure, factor):
    """A spread() times a number, its quartiles in order; None for nothing."""
    if figure is None:
        return None
    low, high = sorted((figure["low"] * factor, figure["high"] * factor))
    return {"median": figure["median"] * factor, "low": low, "high": high, "runs": figure["runs"]}


def runs_of(figures):
    """"30 runs", or "3 to 30 runs", of several spreads."""
    counts = sorted({figure["runs"] for figure in figures if figure})
    if not counts:
        return "no runs"
    return f"{counts[0]}{f' to {counts[-1]}' if len(counts) > 1 else ''} run{'s' if counts[-1] > 1 else ''}"


def verdict(wanted, figures, reached):
    """A cell of the opening table: what was wanted, and of which medians that holds. reached: median -> bool."""
    held = [reached(figure["median"]) for figure in figures if figure]
    if not held:
        return "–"
    answer = "reached" if all(held) else "missed" if not any(held) else ", ".join("reached" if each else "missed" for each in held)
    return f"{wanted}: {answer}"


def ratio_of_means(values, to):
    """What the mean of `values` is of that of `to`, and the interval in which it lies with 95 % confidence, by the bootstrap:
    {ratio, low, high}. None of both where one has none; always the same for the same values."""
    values, to = ([value for value in each if value is not None] for each in (values, to))
    if not values or not to:
        return None
    dice = random.Random(1)

    def again(sample):
        return statistics.fmean(dice.choices(sample, k=len(sample)))

    drawn = sorted(again(values) / again(to) for _ in range(RESAMPLINGS))
    return {"ratio": statistics.fmean(values) / statistics.fmean(to), "low": drawn[RESAMPLINGS // 40],
            "high": drawn[-1 - RESAMPLINGS // 40]}


# Of Student's t, two-sided, 95 %, by degrees of freedom.
STUDENT = [None, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228]


def difference_of_pairs(values, to):
    """{mean, low, high} of values less those of the same runs in `to`, with the interval in which the mean lies with 95 % confidence
    (Student's t); {mean} alone of one pair. More than eleven pairs have the t of eleven, which is a little wide."""
    apart = [value - other for value, other in zip(values, to, strict=True)]
    mean = statistics.fmean(apart)
    if len(apart) < 2:
        return {"mean": mean, "low": None, "high": None}
    around = STUDENT[min(len(apart), len(STUDENT)) - 1] * statistics.stdev(apart) / len(apart) ** 0.5
    return {"mean": mean, "low": mean - around, "high": mean + around}


def jain(values):
    """Jain's index, mu² / (mu² + sigma²); 1 where there is nothing to be unfair about."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0
