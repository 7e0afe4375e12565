# SPDX-License-Identifier: BSD-2-Clause
"""What the experiments make of their figures, on figures that are made up."""

import statistics
import unittest
import unittest.mock

from evaluation import alternatives_page, growth_page, microbenchmark_fast, microbenchmark_page
from evaluation.experiments import goodput, multihop, updates
from evaluation.microbenchmark_fast import require_ratio
from evaluation.pictures import refuse_alike
from evaluation.playing import read_trace
from evaluation.spread import spread


def figure(value):
    return spread([value])


def rows_of(table):
    """The cells of each row of a Markdown table, without its two first lines."""
    return [[cell.strip() for cell in line.strip("|").split("|")]
            for line in table.splitlines()[2:]]


class FastRatio(unittest.TestCase):
    def run_of(self, sent, dropped):
        return {"taken_per_s": 1e6, "sent_per_s": sent * 1e6, "dropped_per_s": dropped * 1e6}

    def test_a_fifo_that_lets_out_what_was_asked_for_is_a_figure(self):
        require_ratio(self.run_of(0.66, 0.34), "fifo", 2 / 3)

    def test_a_fifo_at_another_ratio_is_refused_with_the_reason(self):
        why = "fifo let out 10.0 % .* to be 66.7 % .* figure of the generator"
        with self.assertRaisesRegex(RuntimeError, why):
            require_ratio(self.run_of(0.10, 0.90), "fifo", 2 / 3)

    def test_a_run_into_which_a_pause_fell_is_begun_anew(self):
        def fast_case(*busy):
            fast = microbenchmark_fast
            runs = [{"busy": each} for each in busy]
            with unittest.mock.patch.multiple(fast, summary=lambda run: run,
                                              one_run=unittest.mock.Mock(side_effect=runs)):
                return fast.fast_case(None, "in turns", 2 / 3, "fifo", 8)

        self.assertEqual(fast_case(0.83, 0.99), {"busy": 0.99, "again": 1})
        attempts = microbenchmark_fast.ATTEMPTS
        self.assertEqual(fast_case(*[0.83] * attempts), {"busy": 0.83, "again": attempts - 1})

    def test_pauses_that_are_in_the_figures_are_told(self):
        undisturbed = {"busy_percent": figure(99), "again": 4}
        self.assertIn("4 were", microbenchmark_page.pauses([undisturbed]))
        self.assertIn("compare mean peaks here",
                      microbenchmark_page.pauses([undisturbed, {"busy_percent": figure(83)}]))

    def test_a_fifo_drops_what_it_does_not_let_out(self):
        why = "fifo kept 80.0 % .* let out 66.0 %, and it folds none"
        with self.assertRaisesRegex(RuntimeError, why):
            require_ratio(self.run_of(0.66, 0.20), "fifo", 2 / 3)

    def test_olaf_folds_what_it_does_not_let_out(self):
        require_ratio(self.run_of(0.66, 0.02), "olaf", 2 / 3)
        with self.assertRaisesRegex(RuntimeError, "olaf let out"):
            require_ratio(self.run_of(0.5, 0.02), "olaf", 2 / 3)


class Papers(unittest.TestCase):
    """XAgg's figures 6 to 11 stand as rows, with the paper's numbers."""

    def setUp(self):
        names = alternatives_page.CONTENDERS
        self.result = {
            "sizes": [{"contender": name, "values": values, "bytes": 4 * values,
                       "updates_per_s": figure(4e6), "gbit_per_s": figure(20), "cpu_ns": figure(300)}
                      for name in names for values in (32, 256, 320)],
            "loads": [{"contender": name, "load": load, "p50_ns": figure(50e3),
                       "busy": figure(load / 3e6), "lost_percent": figure(0.5),
                       "repeated_percent": figure(0)}
                      for name in names for load in (50_000, 1_200_000, 3_000_000)]}

    def test_each_figure_has_its_rows(self):
        rows = rows_of(alternatives_page.paper_table(self.result))
        self.assertEqual(sorted({int(row[0]) for row in rows}), [6, 7, 8, 9, 10, 11])
        self.assertIn(["6", "M updates/s, 32 values", "4.19", "4.00", "4.00"], rows)
        self.assertIn(["7", "Gbit/s, 256 values", "13.03", "20.0", "20.0"], rows)
        self.assertIn(["11", "lost at the highest rate, %", "0.261 (100 Gbit/s, ten cores)",
                       *["0.50 (24.6 Gbit/s, one core)"] * 2], rows)

    def test_cpu_is_told_by_rate(self):
        rows = rows_of(alternatives_page.cpu_table(self.result))
        self.assertEqual([row[:2] for row in rows], [["0.4", "2"], ["9.8", "40"], ["24.6", "100"]])
        self.assertEqual({len(row) for row in rows}, {7}, "a column for each contender that was paced")

    def test_what_a_first_look_has_not_is_a_dash(self):
        few = {kind: [row for row in rows if row.get("values") != 320]
               for kind, rows in self.result.items()}
        self.assertIn(["6", "M updates/s, 320 values", "1.11", "–", "–"],
                      rows_of(alternatives_page.paper_table(few)))

    def test_gbit_by_cores(self):
        costs = [{"axis": "cpus", "value": cpus, "contender": name, "arm": "1 of 3",
                  "updates_per_s": figure(cpus * 1e6)}
                 for cpus in (1, 2) for name in ("xagg", "olaf")]
        self.assertEqual(rows_of(growth_page.paper_table({"costs": costs})),
                         [["1", "13", "8.2", "8.2"], ["2", "linear, no figure", "16.4", "16.4"],
                          ["10", "99.5 (the NIC's limit)", "–", "–"]])

    def test_ages_of_the_freshest_and_the_oldest_cluster_are_told(self):
        case = {"axis": "queue", "value": 8, "contender": "olaf"}
        cost = {**case, "arm": "", "ns": figure(300), "rate_to_xagg": None,
                "dropped_percent": figure(0)}
        age = {**case, "intervals": figure(3)}
        ends = {"freshest_intervals": figure(2), "oldest_intervals": figure(5)}

        def told(age):
            table = growth_page.table({"costs": [cost], "ages": [age]}, "queue", "Qmax")
            return rows_of(table)[0][-3:]

        self.assertEqual(told({**age, **ends}), ["3.00", "2.00", "5.00"])
        self.assertEqual(told(age), ["3.00", "–", "–"], "a result of before has no ends")


class ThreeSwitches(unittest.TestCase):
    def test_the_papers_loss_is_that_of_the_rate(self):
        rates = multihop.case(type("Quick", (), {"quick": True}), "loss")["rates"]
        bps = [int(rates[number].removesuffix("bit")) for number in (1, 2, 3)]
        self.assertAlmostEqual(bps[2] / multihop.UPDATE_BITS, 0.12 * multihop.OFFERED)
        self.assertEqual(bps[:2], [10 * bps[2]] * 2)

    def test_a_result_without_that_rate_still_says_the_cause(self):
        said = multihop.why_so_old({"rows": []})
        self.assertIn("13 others at most, which take 525 ms", said)
        self.assertNotIn("|", said)


class LunarLander(unittest.TestCase):
    def test_is_played_with_its_own_intervals_and_size(self):
        game = updates.GAMES["LunarLander"]
        recorded = [(at, *who) for at, *who in read_trace(game.trace) if at >= game.begin_s * 1e6]
        moments = game.moments(game.updates, 0)
        self.assertEqual(len(moments), 300 * game.updates)

        def gaps(moments, cluster, worker):
            times = [at for at, *who in moments if who == [cluster, worker]][:game.updates]
            return [later - at for at, later in zip(times, times[1:])]

        played = gaps(moments, 9, 1)
        for ours, theirs in zip(played, gaps(recorded, 0, 1), strict=True):
            self.assertAlmostEqual(ours, theirs, places=3)
        self.assertGreater(statistics.pstdev(played), 0.15 * statistics.fmean(played),
                           "as uneven as episodes")
        self.assertAlmostEqual(updates.offered_bps(moments, 1104) / updates.offered_bps(moments, 32),
                               (90 + 8 * 1104) / (90 + 8 * 32))
        self.assertEqual(game.lanes, 1104)

    def test_a_result_of_before_says_that_it_has_none(self):
        self.assertIn("no run of LunarLander's trace", updates.lunar_lander({"rows": []}))


class Jumbo(unittest.TestCase):
    def test_frames_are_told_beside_each_other(self):
        result = {"speed": {"i32x2": figure(40)}}
        self.assertEqual(rows_of(goodput.speed_table(result)), [["i32x2", "40", "–", "–"]])
        result |= {"jumbo": {"i32x2": figure(100)}, "jumbo_gain": {"i32x2": figure(2.5)}}
        self.assertEqual(rows_of(goodput.speed_table(result)), [["i32x2", "40", "100", "2.50"]])

    def test_lanes_fit_the_queue_and_the_frame(self):
        for lanes, mtu in goodput.FRAMES.values():
            self.assertLessEqual(lanes, goodput.MOST_LANES)
            self.assertLessEqual(20 + 8 + 48 + 8 * lanes, mtu)


class Pictures(unittest.TestCase):
    def test_two_series_that_look_alike_are_refused(self):
        with self.assertRaisesRegex(ValueError, "'olaf' and 'olaf, 1 of 3 leaves' look alike"):
            refuse_alike(["olaf", "xagg", "olaf, 1 of 3 leaves"])

    def test_what_stands_in_one_picture_is_told_apart(self):
        refuse_alike(alternatives_page.CONTENDERS.values())
        refuse_alike(growth_page.CPU_BARS)
        refuse_alike(f"{name}, 60 : {output}"
                     for name in ("olaf", "olaf, auto") for output in (40, 20, 5))
        refuse_alike(multihop.ARMS["table3"])
        refuse_alike(goodput.ROUNDING)


if __name__ == "__main__":
    unittest.main()
