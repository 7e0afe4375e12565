# SPDX-License-Identifier: BSD-2-Clause
"""The model of growth, on figures whose answer is known."""

import unittest

from evaluation.growth_model import fit, lines_of, predicted


def cost(axis, value, contender, ns, arm="", apart=0):
    """apart: how far the quartiles are from the median."""
    return {"axis": axis, "value": value, "contender": contender, "arm": arm,
            "ns": {"median": ns, "low": ns - apart, "high": ns + apart, "least": ns}}


def figures(added, by_itself=0, apart=0):
    """An update of 200 ns + 0.25 ns a lane behind a generator of 150; a second CPU adds `added` ns a departure and `by_itself`."""
    rows = [cost("lanes", lanes, "olaf", 350 + 0.25 * lanes) for lanes in (16, 128, 384)]
    for fold in (3, 10, 30):
        for cpus in (1, 2):
            more = added / fold + by_itself if cpus == 2 else 0
            rows += [cost("cpus", cpus, "drop", 150, f"1 of {fold}"), cost("cpus", cpus, "xagg", 300, f"1 of {fold}"),
                     cost("cpus", cpus, "olaf", 380 + more, f"1 of {fold}", apart)]
    return {"costs": rows}


def told(result):
    return lines_of(result, predicted(result))


class Model(unittest.TestCase):
    def test_a_line_through_points_is_found(self):
        self.assertEqual(fit([(1, 3), (2, 5), (3, 7)]), (1, 2))

    def test_no_cost_is_negative(self):
        self.assertEqual(fit([(1, 8), (2, 6), (3, 4)]), (6, 0),
                         "a cost that falls is the same for all")
        self.assertEqual(fit([(1, 0), (2, 3), (3, 6)]), (0, 24 / 14),
                         "what would begin below nothing begins with nothing")
        self.assertEqual(fit([(1, -3), (2, -4)]), (0, 0))
        self.assertEqual(fit([(4, 8)]), (0, 2), "one point is all of the departures")

    def test_the_parts_of_a_cost_are_told_apart(self):
        model = predicted(figures(added=240))
        self.assertAlmostEqual(model["base"], 200)
        self.assertAlmostEqual(model["lane"], 0.25)
        self.assertAlmostEqual(model["handed"], 240)
        self.assertAlmostEqual(model["by_itself"], 0)
        self.assertAlmostEqual(model["most_departures"], 1e9 / 240)

    def test_departures_that_cost_most_are_told_so(self):
        said = told(figures(added=240, by_itself=20))
        self.assertIn("20 ns an update, whether it leaves or not, and 240 ns a departure", said)
        self.assertIn("departures are 80 % of what a second CPU adds", said)
        self.assertIn("more than 4.2 M departures a second", said)

    def test_a_ring_that_costs_nothing_to_share_is_no_bound(self):
        self.assertIn("set no bound", told(figures(added=0)))

    def test_a_cost_that_falls_with_departures_is_not_theirs(self):
        said = told(figures(added=-130, by_itself=98))
        self.assertIn("has 78 ns an update, whether it leaves or not, and 0 ns a departure", said)
        self.assertIn("doesn't grow with the departures", said)
        self.assertNotIn("departures are", said)

    def test_runs_that_differ_by_more_than_the_cost_leave_it_open(self):
        said = told(figures(added=240, apart=60))
        self.assertIn("by no more than the runs differ", said)
        self.assertIn("set no bound", said)


if __name__ == "__main__":
    unittest.main()
