# SPDX-License-Identifier: BSD-2-Clause
"""The queue's books, and the server's against them."""
import json
import time

SETTLES_S = 40
RESTS_S = 2  # nothing comes any more


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


class Books:
    """Of one queue at a time, and of the server that it sends to."""

    def __init__(self, bed):
        self.bed = bed
        self.missing = 0  # updates whose loss the kernel kept from the queue, of all queues
        self.open()

    def open(self):
        """A queue starts: what the server has received is none of its."""
        self._before = self.bed.server.received()
        self._excused = 0
        self._unseen = 0

    def settle(self):
        """Waits until nothing waits and the server has all that left; returns the last status."""
        end = time.monotonic() + SETTLES_S
        shortage, since = None, time.monotonic()
        while True:
            status = self.bed.status()
            short = self._short(status)
            if short == 0:
                time.sleep(0.05)  # long enough for one update too many
                # A straggler may have come while the maps were read one after the other.
                if self._short(status) == 0 and (identities_hold(status) or time.monotonic() > end):
                    self._check(status)
                    return status
            elif short != shortage:
                shortage, since = short, time.monotonic()
            elif short and short > 0 and time.monotonic() > since + RESTS_S:
                self._excuse(short, status)
            if time.monotonic() > end:
                self._fail(short, status)
            time.sleep(0.05)

    def _short(self, status):
        """Updates that should have arrived and haven't; nothing while some wait."""
        if status["counters"]["updates_waiting"] or status["drain"]["circulating"]:
            return None
        due = status["counters"]["updates_out"] - sum(lost(status).values()) - self._excused
        return due - (self.bed.server.received() - self._before)

    def _excuse(self, short, status):
        """A loss may be unseen if one happened where the kernel runs no tracing program: in a
        thread of process 1, or on top of the program itself."""
        unseen = status["deaths_unseen"] or 0
        if not self.bed.withheld.deaths() and unseen <= self._unseen:
            return
        self.bed.withheld.excuse()
        self._unseen = max(unseen, self._unseen)
        self._excused += short
        self.missing += short

    def _check(self, status):
        identities(status)
        # A stranger's update may be spoilt, and spoil those that it is folded with.
        if self.bed.server.spoilt.value and not self.bed.strangers:
            raise Unbalanced(f"{self.bed.server.spoilt.value} updates came spoilt")

    def _fail(self, short, status):
        if self.bed.server.dropped_by_harness():
            raise RuntimeError("the harness itself lost frames")
        why = ("what waits doesn't leave" if short is None else
               f"the server should have received {short} updates more" if short > 0 else
               f"the server received {-short} updates too many")
        raise Unbalanced(f"{why}\n{json.dumps(status)}")
