# SPDX-License-Identifier: BSD-2-Clause
"""While one thread waits, others run, and Ctrl-C gets through."""

import os
import signal
import threading
import time
import unittest

import olaf
from loopback import SOON, Loopback


class Waiting(Loopback):
    def waits(self):
        """Every call that may block for ever, each on an object where nothing arrives."""
        server, lonely = self.server(), self.worker(self.server())
        return {
            "wait": lonely.wait,
            "join": lambda: lonely.join(None),
            "receive": server.receive,
            "serve": server.serve,
            "next": server.next,
            "loop": lambda: next(iter(server)),
        }

    def test_other_threads_make_progress(self):
        # The waiter is ended by what the counter does once it has counted on: were the GIL
        # held, the counter would not get there and the wait would time out.
        server = self.server()
        worker = self.worker(server)

        def count_and_push():
            for _ in range(100_000):
                pass
            worker.push([1, 1, 1])

        counter = threading.Thread(target=count_and_push)
        counter.start()
        self.assertEqual(server.receive(SOON), 1)
        counter.join()

        answer = threading.Thread(target=lambda: self.handle(server, 1))
        answer.start()
        worker.push([1, 1, 1])
        self.assertIsNotNone(worker.wait(SOON))
        answer.join()

    def test_a_keyboard_interrupt_gets_through(self):
        for name, wait in self.waits().items():
            with self.subTest(name):
                main = threading.get_native_id()

                def interrupt():
                    # Once the main thread sleeps, it does so inside the call.
                    while True:
                        with open(f"/proc/self/task/{main}/stat", encoding="ascii") as stat:
                            if stat.read().rsplit(")", 1)[1].split()[0] == "S":
                                break
                    os.kill(os.getpid(), signal.SIGINT)

                other = threading.Thread(target=interrupt)
                start = time.monotonic()
                with self.assertRaises(KeyboardInterrupt):
                    other.start()
                    wait()
                other.join()
                self.assertLess(time.monotonic() - start, SOON)

    def test_functions_of_the_users_may_call_back(self):
        # Four threads on one worker whose rule calls it, and a server whose rule calls that.
        def rule(update):
            rewards.add(server.cluster(update.cluster).folded)

        rewards = set()
        server = self.server(rule=rule)
        worker = self.worker(
            server, transmission=lambda state: 1.0 if worker.stats.updates >= 0 else 0.0
        )
        serving = threading.Thread(target=server.serve, args=(SOON,))

        def push():
            for _ in range(100):
                worker.push([0, 0, 0])
                worker.poll()

        pushing = [threading.Thread(target=push) for _ in range(4)]
        for thread in [serving, *pushing]:
            thread.start()
        for thread in pushing:
            thread.join()
        while server.cluster(3).folded < 400:
            self.assertTrue(serving.is_alive(), "400 updates didn't arrive in time")
        server.stop()
        serving.join()
        self.assertEqual(rewards, set(range(400)))

    def test_other_signals_dont_shorten_a_wait(self):
        seen = []
        before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        worker = self.worker(self.server())
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        start = time.monotonic()
        self.assertIsNone(worker.wait(0.1))
        self.assertGreaterEqual(time.monotonic() - start, 0.1)
        self.assertTrue(seen)

    def test_endless_timeouts(self):
        server = self.server()
        for timeout in (None, float("inf"), 1e300):
            worker = self.worker(server)
            worker.push([0, 0, 0])
            self.assertEqual(server.receive(timeout), 1)
            self.assertIsNotNone(worker.wait(timeout))

    def test_polling_by_select(self):
        import select
        server = self.server()
        worker = self.worker(server)
        worker.push([0, 0, 0])
        self.assertEqual(select.select([server], [], [], SOON)[0], [server])
        server.receive(0)
        self.assertEqual(select.select([worker], [], [], SOON)[0], [worker])
        self.assertIsNotNone(worker.poll())


if __name__ == "__main__":
    unittest.main()
