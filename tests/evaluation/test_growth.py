# SPDX-License-Identifier: BSD-2-Clause
"""The model of growth, on figures whose answer is known."""

import unittest

from evaluation.growth_model import fit, lines_of, predicted


def cost(axis, value, contender, ns, arm=""):
    return {"axis": axis, "value": value, "contender": contender, "arm": arm, "ns": {"median": ns}}


def figures(added):
    """An update of 200 ns + 0.25 ns a lane behind a generator of 150, and `added` ns a departure for a second CPU."""
    rows = [cost("lanes", lanes, "olaf", 350 + 0.25 * lanes) for lanes in (16, 128, 384)]
    for fold in (3, 10, 30):
        for cpus in (1, 2):
            more = added / fold if cpus == 2 else 0
            rows += [cost("cpus", cpus, "drop", 150, f"1 of {fold}"), cost("cpus", cpus, "xagg", 300, f"1 of {fold}"),
                     cost("cpus", cpus, "olaf", 380 + more, f"1 of {fold}")]
    return {"costs": rows}


class Model(unittest.TestCase):
    def test_a_line_through_points_is_found(self):
        self.assertEqual(fit([(0, 1), (1, 3), (2, 5)]), (1, 2))

    def test_the_parts_of_a_cost_are_told_apart(self):
        model = predicted(figures(added=240))
        self.assertAlmostEqual(model["base"], 200)
        self.assertAlmostEqual(model["lane"], 0.25)
        self.assertAlmostEqual(model["handed"], 240)
        self.assertAlmostEqual(model["by_itself"], 0)
        self.assertAlmostEqual(model["most_departures"], 1e9 / 240)

    def test_a_ring_that_costs_nothing_to_share_is_no_bound(self):
        model = predicted(figures(added=0))
        self.assertIn("set no bound", lines_of(figures(added=0), {**model, "handed": 0, "most_departures": None}))


if __name__ == "__main__":
    unittest.main()
