# SPDX-License-Identifier: BSD-2-Clause
"""olaf-replay and olaf-tally over loopback. Needs root, for the sizes of their buffers."""

import json
import os
import pathlib
import socket
import subprocess
import tempfile
import unittest

PROGRAMS = pathlib.Path(os.environ["OLAF_BUILD"]) / "evaluation"
TRACE = "0 0 0\n100 1 1\n200 0 0\n300 1 0\n"


def free_port():
    """A port of loopback that nobody has now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Replay(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.trace = pathlib.Path(folder.name) / "trace"
        self.trace.write_text(TRACE, encoding="ascii")
        self.address = f"127.0.0.1:{free_port()}"

    def tally(self, *options):
        process = subprocess.Popen([PROGRAMS / "olaf-tally", self.address, *options], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "listening\n")
        return process

    def replay(self, *options):
        done = subprocess.run([PROGRAMS / "olaf-replay", self.trace, "--server", self.address, *options], text=True,
                              capture_output=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr

    def test_every_update_arrives_once_and_is_answered(self):
        server = self.tally("--answer", "--clusters", "3")
        sent = self.replay("--send-again-ms", "60000")
        self.assertEqual((sent["sent"], sent["again"], sent["missing"]), (4, 0, 0))
        server.terminate()
        got = json.loads(server.communicate()[0])
        self.assertEqual([cluster["arrived"] for cluster in got["clusters"]], [[2], [1, 1], []])
        self.assertEqual((got["refused"], got["answered"]), (0, 4))

    def test_what_is_not_answered_is_sent_again_and_told(self):
        server = self.tally()  # takes all and answers nothing
        sent = self.replay("--send-again-ms", "1", "--limit-s", "0.5")
        self.assertEqual((sent["sent"], sent["missing"]), (4, 4))
        self.assertGreaterEqual(sent["again"], 4)
        server.terminate()
        got = json.loads(server.communicate()[0])
        self.assertEqual(sum(cluster["updates"] for cluster in got["clusters"]), sent["sent"] + sent["again"])

    def test_a_flood_goes_round_the_trace(self):
        server = self.tally()
        self.assertEqual(self.replay("--flood", "64")["sent"], 64)
        server.terminate()
        got = json.loads(server.communicate()[0])
        self.assertEqual([cluster["arrived"] for cluster in got["clusters"]], [[32], [16, 16]])

    def test_a_worker_that_updates_have_no_room_for_is_refused(self):
        self.trace.write_text("0 0 2\n", encoding="ascii")
        self.assertIn("worker 2", self.replay("--lanes", "2"))


if __name__ == "__main__":
    unittest.main()
