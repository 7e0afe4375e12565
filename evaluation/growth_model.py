# SPDX-License-Identifier: BSD-2-Clause
"""What explains the cost of an update, fitted to growth's figures, and what it says of 100 Gbit/s with 32 queues.

    alone(lanes)         a + b x lanes        on one CPU
    shared(departures)   s x d                for each other CPU that folds: d departures an update, each of which takes its
                                              own lines and the ring's from the CPUs that wrote them last

One CPU's time between two of its updates must hold alone(). Were all of what is shared done under the ring's lock, departures of
all CPUs couldn't be more often than it is handed on: the bound can only be too low."""

UPDATE_BYTES = 1_114 + 24  # 128 lanes with headers, and what Ethernet adds
LINK_BPS = 100e9
QUEUES = 32


def fit(points):
    """Least squares of y = a + b x over [(x, y)]: (a, b)."""
    n = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    square = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / square
    return mean_y - slope * mean_x, slope


def medians(result, axis, contender, arm=""):
    return {row["value"]: row["ns"]["median"] for row in result["costs"]
            if row["axis"] == axis and row["contender"] == contender and row["arm"] == arm}


def sharing(result, contender, suffix=""):
    """[(departures an update, ns that a second CPU adds to each update)] beyond what it adds to XDP_DROP."""
    points = []
    for fold in (3, 10, 30):
        arm = f"1 of {fold}"
        own, floor = medians(result, "cpus", contender, arm + suffix), medians(result, "cpus", "drop", arm)
        if {1, 2} <= own.keys() and {1, 2} <= floor.keys():
            points.append((1 / fold, own[2] - own[1] - (floor[2] - floor[1])))
    return points


def predicted(result):
    """{name: number} of what the model says."""
    base, lane = fit(sorted(medians(result, "lanes", "olaf").items()))
    floor = medians(result, "cpus", "drop", "1 of 3")[1]
    points, xagg = sharing(result, "olaf"), sharing(result, "xagg")
    # With one point the whole of it is the departures'.
    by_itself, handed = fit(points) if len(points) > 1 else (0.0, points[0][1] / points[0][0])
    updates = LINK_BPS / (UPDATE_BYTES * 8)
    alone = base + 128 * lane - floor
    return {"base": base - floor, "lane": lane, "points": points, "xagg_points": xagg, "handed": handed, "by_itself": by_itself, "updates": updates,
            "alone": alone, "room": 1e9 * QUEUES / updates, "cores": updates * alone / 1e9,
            "most_departures": 1e9 / handed if handed > 0 else None}


def shared(model):
    """How much of that goes with departures."""
    if len(model["points"]) < 2:
        return "One share of departures alone doesn't tell what of it is theirs."
    return (f"By least squares that is {model['by_itself']:.0f} ns an update, whether it leaves or not, and {model['handed']:.0f} ns a departure"
            f"{', so departures cost most of it' if model['handed'] / 3 > model['by_itself'] else ''}.")


def lines_of(result, model):
    added = ", ".join(f"{ns:+.0f} ns with {100 * share:.0f} %" for share, ns in model["points"])
    theirs = ", ".join(f"{ns:+.0f}" for _, ns in model["xagg_points"])
    handed = model["handed"]
    departures = model["updates"] / 3
    if model["most_departures"] is None:
        bound = "No cost of sharing shows on two CPUs, so these figures set no bound to departures."
    else:
        bound = (f"A departure costs {handed:.0f} ns more here. Were all of that under the ring's lock, the queue couldn't make more than "
                 f"{model['most_departures'] / 1e6:.1f} M departures a second, whatever the number of CPUs; 100 Gbit/s with one of three "
                 f"leaving needs {departures / 1e6:.1f} M, "
                 f"{'which this bound leaves open' if departures > model['most_departures'] else 'so the ring allows it'}.")
    return f"""On one CPU an update costs {model['base']:.0f} ns and {model['lane']:.2f} ns a lane beyond the generator's share, as long as its cluster's lines are
cached; more clusters add misses of slot, entry, place, member and ages, as the first table shows. 100 Gbit/s are {model['updates'] / 1e6:.1f} M updates a second
of 128 lanes, {model['room']:.0f} ns for each of 32 queues' CPUs, of which the model takes {model['alone']:.0f} ns: {model['cores']:.1f} cores' worth, if they shared nothing.

What a second CPU adds to each update beyond what it adds to XDP_DROP: {added} leaving (XAgg, which shares nothing: {theirs}). {shared(model)}
Departures of different clusters share `olaf_ring[0]`, with the lock, both ends of the ring and the time of the next departure: each departure and each append
writes that line, and each arrival reads it to learn whether something is due. **It isn't what costs most**: to split it made two CPUs slower, and departures that rode
only on their own cluster's CPU saved most of what the second one adds ([benchmarks.md](benchmarks.md)). The lines of the departing update travel. {bound}
What would help is a ring for each CPU, which gives up one order of departures for all clusters. This is a model of two CPUs: more have not been measured."""
