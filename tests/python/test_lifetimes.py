# SPDX-License-Identifier: BSD-2-Clause
"""A Collective that is let go of, forked or interrupted while vectors are under way and threads wait."""

import signal
import subprocess
import sys
import unittest

from loopback import JOB, SOON, Node

BEGIN = f"""
import gc, os, sys, threading
import numpy as np, olaf
node = sys.argv[1]

def make(rank=0, workers=2, **options):
    return olaf.Collective(node, {JOB}, rank, workers, timeout={SOON}, run="test", **options)

def ready():
    print("ready", flush=True)
"""


class Lifetimes(unittest.TestCase):
    def process(self, work, workers=2, jobs=1, interrupt=False):
        """What a process says that does this work, and has a node; it must end well. `interrupt`: it
        is sent SIGINT once it is ready()."""
        with Node(workers, jobs) as node:
            process = subprocess.Popen([sys.executable, "-c", BEGIN + work, node], text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            with process:
                said = ""
                if interrupt:
                    said = process.stdout.readline()
                    process.send_signal(signal.SIGINT)
                said += process.communicate()[0]
            self.assertEqual(process.returncode, 0, said)
        return said

    def test_a_collective_may_go_while_vectors_are_under_way(self):
        for threads in (1, 2):
            self.process(f"""
for size in (10, 3_000_000) * 3:
    job = make(workers=2, threads={threads})
    job.allreduce_async(np.ones(size, np.float32))
    try:
        job.poll()
    finally:
        del job
        gc.collect()
""", jobs=threads)

    def test_a_process_may_end_with_vectors_under_way(self):
        for threads in (1, 2):
            self.process(f"""
job = make(threads={threads})
sum = job.allreduce_async(np.ones(3_000_000, np.float32))
""", jobs=threads)

    def test_a_process_may_end_while_a_daemon_thread_waits(self):
        for call in ("start()", "allreduce(np.ones(10, np.float32))", "join()"):
            for threads in (1, 2) if call != "join()" else (1,):
                self.process(f"""
job = make(threads={threads})
begun = threading.Event()
def wait():
    begun.set()
    job.{call}
threading.Thread(target=wait, daemon=True).start()
begun.wait()
""", jobs=threads)

    def test_a_process_may_end_while_a_daemon_thread_serves(self):
        self.process("""
for server in (olaf.ParameterServer("127.0.0.1:0"),
               olaf.RoundServer("127.0.0.1:0", job=3, weights=np.zeros(10, np.float32),
                                rule=lambda sum: None, workers=2, lanes=9)):
    begun = threading.Event()
    def serve():
        begun.set()
        server.serve()
    threading.Thread(target=serve, daemon=True).start()
    begun.wait()
""")

    def test_ctrl_c_ends_a_call_that_waits_for_another_threads_call(self):
        said = self.process("""
job = make()
begun = threading.Event()
def wait():
    begun.set()
    job.start()
threading.Thread(target=wait, daemon=True).start()
begun.wait()
try:
    ready()
    while True:
        job.stats
except KeyboardInterrupt:
    print("interrupted")
    sys.stdout.flush()
    os._exit(0)  # the thread is still there
""", interrupt=True)
        self.assertIn("interrupted", said)

    def test_a_fork_may_end_and_is_told_that_the_collective_is_not_its_own(self):
        for threads in (1, 2):
            said = self.process(f"""
job = make(workers=1, threads={threads})
job.start()
vector = np.ones(1000, np.float32)
job.allreduce(vector)
child = os.fork()
if child == 0:
    for call in (job.start, lambda: job.allreduce(vector), job.finish):
        try:
            call()
            print("no error")
        except ValueError as error:
            assert "was forked from" in str(error), error
    del job
    sys.exit(7)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7, status
job.allreduce(vector)
assert job.finish()
""", workers=1, jobs=threads)
            self.assertEqual(said, "")


if __name__ == "__main__":
    unittest.main()
