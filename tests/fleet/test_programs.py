# SPDX-License-Identifier: BSD-2-Clause
"""`olaf plan` and `olaf admit` become programs of a package of their own: what they are told, and what is said without it."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["OLAF_BUILD"])
OLAF = BUILD / "loader/olaf"


def run(*command, **more):
    return subprocess.run(command, capture_output=True, check=False, timeout=120, **more)


class Programs(unittest.TestCase):
    def expect_line(self, done, status, words):
        self.assertEqual((done.returncode, done.stdout), (status, b""), done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertIn(words, done.stderr)

    def test_are_told_of_as_many_clusters_as_a_command_line_holds(self):
        clusters = [word for i in range(5000) for word in ("--cluster", f"{i}:100s:1kb")]
        done = run(OLAF, "admit", *clusters, "--hop", "10gbit", "--objective", "peak<=101s")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_are_told_names_in_any_bytes(self):
        for option, status in (([], 2), (["--sub-models"], 2), (["--root"], 1), (["--picture"], 2)):
            where = ["leaf-spine:leaves=2,spines=1,hosts=4", *option] if option else []
            with self.subTest(option=option):
                self.expect_line(run(OLAF, "plan", *where, b"\xff.\xfe"), status, b"\xff.\xfe")

    def test_are_told_where_standard_input_is_closed(self):
        done = run("sh", "-c", 'exec "$0" "$@" <&-', OLAF, "plan", "fat-tree:k=4")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_are_missed_in_words(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "bin").mkdir()
            olaf = shutil.copy(OLAF, pathlib.Path(folder) / "bin/olaf")
            self.expect_line(run(olaf, "plan", "fat-tree:k=4"), 1, b"install the package olaf-fleet")
            program = pathlib.Path(folder) / "libexec/olaf/olaf-plan"
            program.parent.mkdir(parents=True)
            program.touch(mode=0o644)
            self.expect_line(run(olaf, "plan", "fat-tree:k=4"), 1, b"let the file be run by you")

    def test_say_what_to_run_to_who_runs_them(self):
        for name, command in (("olaf-plan", b"olaf plan"), ("olaf-admit", b"olaf admit")):
            with self.subTest(name=name):
                self.expect_line(run(BUILD / "libexec/olaf" / name, stdin=subprocess.DEVNULL), 2, command + b": this program is a part of it")


if __name__ == "__main__":
    unittest.main()
