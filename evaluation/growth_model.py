# SPDX-License-Identifier: BSD-2-Clause
"""What explains the cost of an update, fitted to growth's figures, and what it says of 100 Gbit/s with 32 queues.

    alone(lanes)         a + b x lanes        on one CPU
    shared(departures)   s + t x d            for another CPU that folds: d departures an update, each of which takes its
                                              own lines and the ring's from the CPUs that wrote them last

One CPU's time between two of its updates must hold alone(). Were all of what is shared done under the ring's lock, departures of
all CPUs couldn't be more often than it is handed on: the bound can only be too low.

Lines are fitted to the least of the runs, for what disturbs a run makes it dearer. No cost is
negative, so none is fitted so: three shares of departures, of which one is far from the other two,
let the noise of that one tilt a free line downwards, and then it pays for departures with what it
puts on updates. A line says something if it misses its points by no more than the runs differ from
each other; the text follows from that."""

UPDATE_BYTES = 1_114 + 24  # 128 lanes with headers, and what Ethernet adds
LINK_BPS = 100e9
QUEUES = 32
FOLDS = (3, 10, 30)


def fit(points):
    """Least squares of y = a + b x over [(x, y)], of those lines with neither a nor b below 0:
    (a, b). x is above 0. With one point the whole of it is b's."""
    n = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    square = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / square if square else mean_y / mean_x
    a = mean_y - slope * mean_x if square else 0.0
    if slope < 0:
        return max(0.0, mean_y), 0.0
    if a < 0:
        return 0.0, max(0.0, sum(x * y for x, y in points) / sum(x * x for x, _ in points))
    return a, slope


def missed(points, line):
    """By how much a line (a, b) misses the point that it misses most."""
    return max(abs(y - line[0] - line[1] * x) for x, y in points)


def least(ns):
    """Of a spread(); a result of before there was one has its lower quartile."""
    return ns.get("least", ns.get("low", ns["median"]))


def width(ns):
    """How far the quartiles of a spread() are apart."""
    return ns.get("high", ns["median"]) - ns.get("low", ns["median"])


def costs(result, axis, contender, arm=""):
    """{value: spread of ns}."""
    return {row["value"]: row["ns"] for row in result["costs"]
            if row["axis"] == axis and row["contender"] == contender and row["arm"] == arm}


def sharing(result, contender, suffix=""):
    """[(departures an update, ns that a second CPU adds to each update, how far that is off)] beyond what it adds to XDP_DROP.
    A difference of four figures is off by half of their quartiles' widths together."""
    points = []
    for fold in FOLDS:
        arm = f"1 of {fold}"
        own, floor = costs(result, "cpus", contender, arm + suffix), costs(result, "cpus", "drop", arm)
        if {1, 2} <= own.keys() and {1, 2} <= floor.keys():
            added = least(own[2]) - least(own[1]) - (least(floor[2]) - least(floor[1]))
            points.append((1 / fold, added, sum(width(each[cpus]) for each in (own, floor) for cpus in (1, 2)) / 2))
    return points


def predicted(result):
    """{name: number} of what the model says."""
    floor = least(costs(result, "cpus", "drop", "1 of 3")[1])
    lanes = sorted((value, least(ns) - floor) for value, ns in costs(result, "lanes", "olaf").items())
    base, lane = fit(lanes)
    points, xagg = sharing(result, "olaf"), sharing(result, "xagg")
    known = [(share, added) for share, added, _ in points]
    by_itself, handed = fit(known)
    updates = LINK_BPS / (UPDATE_BYTES * 8)
    alone = base + 128 * lane
    return {"base": base, "lane": lane, "lanes_missed": missed(lanes, (base, lane)), "points": points, "xagg_points": xagg,
            "handed": handed, "by_itself": by_itself, "missed": missed(known, (by_itself, handed)),
            "off": max(off for _, _, off in points), "updates": updates,
            "alone": alone, "room": 1e9 * QUEUES / updates, "cores": updates * alone / 1e9,
            "most_departures": 1e9 / handed if explained(known, by_itself, handed, max(off for _, _, off in points)) else None}


def between_ends(known, handed):
    """ns an update by which the line rises from the least share of departures to the largest."""
    shares = [share for share, _ in known]
    return handed * (max(shares) - min(shares))


def explained(known, by_itself, handed, off):
    """Does a cost by departure explain what a second CPU adds?"""
    return len(known) > 2 and between_ends(known, handed) > off and missed(known, (by_itself, handed)) <= max(off, 1)


def shared(model):
    """What the line through the points says, or why it says nothing."""
    points, handed, by_itself = model["points"], model["handed"], model["by_itself"]
    if len(points) < 3:
        return "So few shares of departures don't tell what of it is theirs."
    line = (f"The line through these that has no negative cost has {ns(by_itself)} an update, whether it leaves or not, and {ns(handed)} a departure. It misses them by up to "
            f"{model['missed']:.0f} ns, and the quartiles of the runs leave each of them uncertain by up to {model['off']:.0f} ns.")
    if model["most_departures"] is None:
        rise = between_ends([(share, added_) for share, added_, _ in points], handed)
        why = ("What is added doesn't grow with the departures" if handed == 0 else
               "It grows with the departures by no more than the runs differ" if rise <= model["off"] else
               "The line misses by more than the runs differ")
        return f"{line} **{why}, so these figures don't tell what a second CPU's cost consists of.**"
    most = handed * points[0][0]
    return f"{line} So with one of three leaving departures are {100 * most / (most + by_itself):.0f} % of what a second CPU adds."


def ns(number):
    return f"{number:.0f} ns"


def bound(model):
    departures = model["updates"] / 3
    if model["most_departures"] is None:
        return "They set no bound to departures."
    return (f"Were all of a departure's {model['handed']:.0f} ns under the ring's lock, the queue couldn't make more than "
            f"{model['most_departures'] / 1e6:.1f} M departures a second, whatever the number of CPUs; 100 Gbit/s with one of three "
            f"leaving needs {departures / 1e6:.1f} M, "
            f"{'which this bound leaves open' if departures > model['most_departures'] else 'so the ring allows it'}.")


def added(points):
    return ", ".join(f"{100 * share:.0f} % leaving: {'+' if ns_ >= 0 else '−'}{abs(ns_):.0f} ns" for share, ns_, _ in points)


def lines_of(result, model):
    return f"""Fitted to the least of the runs. On one CPU an update costs {ns(model['base'])} and {model['lane']:.2f} ns a lane beyond the generator's share, as long as its
cluster's lines are cached; this line misses the measured sizes by up to {model['lanes_missed']:.0f} ns. More clusters add misses of slot, entry, place, member and ages, as the
first table shows; the model has no term for them. 100 Gbit/s are {model['updates'] / 1e6:.1f} M updates a second of 128 lanes, {model['room']:.0f} ns for each of 32 queues'
CPUs, of which the model takes {model['alone']:.0f} ns: {model['cores']:.1f} cores' worth, if they shared nothing.

What a second CPU adds to each update beyond what it adds to XDP_DROP: {added(model['points'])}. With XAgg, which shares nothing: {added(model['xagg_points'])}.
{shared(model)} {bound(model)}
Departures of all clusters share `olaf_ring[0]`, with the lock, both ends of the ring and the time of the next departure. Measured apart, with one of three leaving,
to split that line made two CPUs slower, and they were faster where a departure rode only on its own cluster's CPU: the lines of the departing update travel
([benchmarks.md](benchmarks.md)). This is a model of two CPUs: more have not been measured."""
