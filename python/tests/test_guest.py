# SPDX-License-Identifier: MIT
"""Processes that fork, and interpreters that end while threads run in Attune, each in a process of its own."""

import os
import unittest

from scripts import run_script

START = """
import multiprocessing, os, sys, threading, time
import numpy as np
import attune

rng = np.random.default_rng(1)
x = rng.integers(-2, 3, (64, 256)).astype(np.float32)
w = rng.integers(-2, 3, (512, 256)).astype(np.float32)

def products(n):
    # The shape that the parent computed and one of this process alone.
    for rows in (64, n + 1):
        if not np.array_equal(attune.gemm_a16w16(x[:rows], w), x[:rows] @ w.T):
            return False
    packed = attune.pack_weights(w)
    return bool(np.array_equal(attune.gemm_a16w16(x, packed), x @ w.T))
"""


class AnInterpreter(unittest.TestCase):
    def run_script(self, text):
        """Runs a program that must succeed; returns its standard error."""
        return run_script(self, START, text, os.environ)

    def test_a_pool_of_forked_processes_computes(self):
        self.run_script(
            """
            assert products(7)
            with multiprocessing.get_context("fork").Pool(2) as pool:
                assert pool.map_async(products, range(8)).get(60) == [True] * 8
            assert products(9)
            """
        )

    def test_a_child_of_os_fork_computes_and_ends_as_python_does(self):
        self.run_script(
            """
            assert products(7)
            child = os.fork()
            if child == 0:
                sys.exit(0 if products(9) else 1)
            assert os.waitpid(child, 0)[1] == 0
            """
        )

    def test_daemon_threads_do_not_end_a_process_that_ends(self):
        for _ in range(5):
            self.run_script(
                """
                def work():
                    while True:
                        attune.gemm_a16w16(x, w)

                attune.gemm_a16w16(x, w)
                for _ in range(4):
                    threading.Thread(target=work, daemon=True).start()
                time.sleep(0.05)
                """
            )

    def test_daemon_threads_in_other_calls_do_not_end_it_either(self):
        self.run_script(
            """
            def work(call):
                while True:
                    call()

            problem = "gemm_a16w16 m=64 n=512 k=256 dtype=fp32"
            y = np.empty((64, 512), np.float32)
            for call in (lambda: attune.explain(problem), attune.reload, attune.notices, attune.tables, attune.counts,
                         lambda: attune.run(problem, "portable.gemm@1:block=4x4", [x, w, y]),
                         lambda: attune.pack_weights(w[:32])):
                threading.Thread(target=work, args=(call,), daemon=True).start()
            time.sleep(0.3)
            """
        )

    def test_daemon_threads_in_an_array_s_own_code(self):
        self.run_script(
            """
            class Wrapped:
                def __init__(self, array):
                    self.array = array

                def __dlpack__(self):
                    for _ in range(1_000_000):  # Long enough for another thread's turn.
                        pass
                    return self.array.__dlpack__()

            a, b, y = Wrapped(x[:2]), Wrapped(w[:32]), np.empty((2, 32), np.float32)

            def work():
                while True:
                    attune.gemm_a16w16(a, b, out=y)

            attune.gemm_a16w16(a, b, out=y)
            for _ in range(4):
                threading.Thread(target=work, daemon=True).start()
            time.sleep(0.2)
            """
        )


if __name__ == "__main__":
    unittest.main()
