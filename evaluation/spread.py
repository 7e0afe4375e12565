# SPDX-License-Identifier: BSD-2-Clause
"""Figures of repeated runs: median and quartiles, as data and as text."""

import random
import statistics

RESAMPLINGS = 4_000


def spread(values):
    """{median, low, high, runs} of numbers: low and high are the quartiles; None where nothing was measured."""
    values = [value for value in values if value is not None]
    if not values:
        return None
    if len(values) == 1:
        low = high = values[0]
    else:
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": statistics.median(values), "low": low, "high": high, "runs": len(values)}


def text(figure, digits=1):
    """"12.3 (11.9–12.8)", or one number where the quartiles are as good as equal; "–" for nothing."""
    if figure is None:
        return "–"
    median, low, high = (f"{figure[key]:.{digits}f}" for key in ("median", "low", "high"))
    return median if low == median == high else f"{median} ({low}–{high})"


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


def jain(values):
    """Jain's index, mu² / (mu² + sigma²); 1 where there is nothing to be unfair about."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0
