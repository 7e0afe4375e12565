# SPDX-License-Identifier: BSD-2-Clause
"""bench/run --quick: the README's benchmark command comes to its end, and its table has every row. Its programs
make a network namespace each."""

import os
import pathlib
import re
import subprocess
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
BUILD = pathlib.Path(os.environ["OLAF_BUILD"])


def said(*command):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, timeout=250, check=True).stdout


class Run(unittest.TestCase):
    def rows(self, section, columns):
        """Figures by name, of a section with a heading."""
        lines = [line.rsplit(maxsplit=columns) for line in section.splitlines()[1:]]
        figures = {name: [float(figure) for figure in texts] for name, *texts in lines}
        for name, (first, second, *_) in figures.items():
            self.assertTrue(0 < first < 1e9 and 0 < second < 1e9, f"{name}: {figures[name]}")
        return figures

    def test_the_table_has_a_figure_in_each_place(self):
        _, updates, stream, rounds, targets = said(BENCH / "run", "--quick", BUILD).strip().split("\n\n")
        cases = said(BUILD / "bench/olaf_bench_fold", "--benchmark_list_tests").split()
        self.assertEqual(sorted(self.rows(updates, 2)), sorted(case.split("/")[0] for case in cases))
        stream = self.rows(stream, 3)
        self.assertEqual(list(stream), ["drop", "xagg", "olaf", "olaf_unmetered", "udp"])
        for name, (*_, left) in stream.items():
            self.assertTrue(left == 0 if name == "drop" else 0 < left < 1, f"{name} sent {left} of what came")
        ways = ("one CPU", "children shared out", "chunks shared out", "a job each")
        rounds = self.rows(rounds, 3)
        self.assertEqual(list(rounds), [f"rounds of {children}: {way}" for children in (4, 8) for way in ways])
        for name, (*_, times) in rounds.items():
            self.assertTrue(0 < times < 9, f"{name}: {times} times one CPU")
        targets = targets.splitlines()
        self.assertEqual(len(targets), 27)
        for target in targets:
            told = re.match(r".* (-?\d+\.\d\d)[x ]  \((no target\)|[<>]= [\d.]+\)  (reached|missed))$", target)
            # A difference of two times may be less than nothing.
            self.assertTrue(told and (", ns " in target or float(told[1]) > 0), target)


if __name__ == "__main__":
    unittest.main()
