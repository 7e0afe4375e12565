# SPDX-License-Identifier: BSD-2-Clause
"""The queue's books, and the server's against them."""
import json
import time

SETTLES_S = 40


class Unbalanced(Exception):
    pass


def identities(status):
    """What docs/cli.md promises of a queue at rest."""
    c = status["counters"]
    dropped = sum(c[f"dropped_{why}"] for why in ("full", "reward", "sealed", "misfit"))
    sides = {
        "received": (c["received"], c["passed_through"] + c["appended"] + c["aggregated"] +
                     c["replaced"] + dropped),
        "departed": (c["departed"], c["departed_riding"] + c["departed_drain"]),
        "appended": (c["appended"], c["departed"] + status["queue"]["length"]),
        "updates_in": (c["updates_in"], c["updates_out"] + c["updates_superseded"] +
                       c["updates_dropped"] + c["updates_waiting"]),
        "bypassed": (c["bypassed"], sum(status["bypassed_by_reason"].values())),
        "malformed": (c["malformed"], sum(status["malformed_by_reason"].values())),
        "not_allowed": (c["not_allowed"], sum(status["not_allowed_by_reason"].values())),
    }
    if status["window"]:
        w = status["window"]
        sides["window"] = (c["passed_through"] + c["departed"],
                           w["acked"] + w["released"] + w["forgiven"] + w["in_flight"])
    for name, (left, right) in sides.items():
        if left != right:
            raise Unbalanced(f"{name}: {left} is not {right}\n{json.dumps(status)}")


def identities_hold(status):
    try:
        identities(status)
    except Unbalanced:
        return False
    return True


def lost(status):
    """Updates lost behind the queue, by place."""
    return {place: count for place, count in status["lost_behind_updates"].items() if count}


def settle(bed, before):
    """Waits until nothing waits and the server has all that left; returns the last status.
    `before` is what the server had received of other queues."""
    end = time.monotonic() + SETTLES_S
    while True:
        status = bed.status()
        rests = status["counters"]["updates_waiting"] == 0 and not status["lane"]["circulating"]
        arrived = bed.server.received() - before
        due = status["counters"]["updates_out"] - sum(lost(status).values())
        if rests and arrived == due:
            time.sleep(0.05)  # long enough for one update too many
            if bed.server.received() - before == due:
                # A straggler may have come while the maps were read one after the other.
                if not identities_hold(status) and time.monotonic() < end:
                    continue
                identities(status)
                # A stranger's update may be spoilt, and spoil those that it is folded with.
                if bed.server.spoilt.value and not bed.strangers:
                    raise Unbalanced(f"{bed.server.spoilt.value} updates came spoilt")
                return status
        if time.monotonic() > end:
            if bed.server.dropped_by_harness():
                raise RuntimeError("the harness itself lost frames")
            why = (f"the server received {arrived}, but {due} should have arrived" if rests else
                   "what waits doesn't leave")
            raise Unbalanced(f"{why}\n{json.dumps(status)}")
        time.sleep(0.05)
