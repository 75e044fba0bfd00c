# SPDX-License-Identifier: MIT
"""The thread limit of a process: what the environment and the application set, each in a process of its own."""

import os
import textwrap
import unittest

from scripts import run_script

START = """
import ctypes, os, time
import numpy as np
import attune

x = np.ones((64, 512), np.float32)
w = np.ones((512, 512), np.float32)

def product():
    assert (attune.gemm_a16w16(x, w) == 512).all()

def busy_cores(seconds=0.5):
    '''The processor time of all threads of this process over the time that passed.'''
    product()
    time.sleep(0.1)  # Threads that spin after the call before have come to rest.
    began, used = time.perf_counter(), time.process_time()
    while time.perf_counter() < began + seconds:
        product()
    return (time.process_time() - used) / (time.perf_counter() - began)

def num_working():
    '''How many threads worked for at least 30 ms in half a second of products.'''
    def ticks(thread):
        fields = open(f"/proc/self/task/{thread}/stat").read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])
    product()
    before = {thread: ticks(thread) for thread in os.listdir("/proc/self/task")}
    began = time.perf_counter()
    while time.perf_counter() < began + 0.5:
        product()
    return sum(ticks(thread) - before.get(thread, 0) >= 3 for thread in os.listdir("/proc/self/task"))

def check_num_working(expected):
    '''A machine whose cores are busy with other work may hide a thread for a while, but not ten times.'''
    seen = []
    while expected not in seen and len(seen) < 10:
        seen.append(num_working())
    assert expected in seen, seen

def cores_of_threads():
    return {int(one): os.sched_getaffinity(int(one)) for one in os.listdir("/proc/self/task")}
"""
CORES = len(os.sched_getaffinity(0))


class AProcess(unittest.TestCase):
    def run_script(self, text, **variables):
        """Runs a program that must succeed; returns its standard error."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
        return run_script(self, START, text, environment | variables)

    def test_runs_no_thread_more_than_it_is_given(self):
        one = "assert attune.get_num_threads() == 1; busy = busy_cores(); assert busy < 1.05, busy"
        for variable in ("OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "ATTUNE_THREADS"):
            with self.subTest(variable):
                self.run_script(one, **{variable: "1"})
        with self.subTest("set_num_threads"):
            self.run_script("assert attune.set_num_threads(1) == 1;" + one)
        with self.subTest("after a call with all threads"):
            self.run_script("product(); attune.set_num_threads(1);" + one)

    @unittest.skipIf(CORES < 2, "one core: all limits are 1")
    def test_runs_on_all_cores_by_default_and_again_after_a_limit(self):
        self.run_script(
            f"""
            assert attune.get_num_threads() == {CORES}
            assert attune.set_num_threads(1) == 1
            assert attune.set_num_threads({CORES + 5}) == {CORES}
            check_num_working({CORES})
            attune.set_num_threads(1)
            check_num_working(1)
            try:
                attune.set_num_threads(-1)
                assert False
            except attune.errors.InvalidInputError:
                pass
            """
        )

    def test_keeps_the_cores_of_the_applications_threads(self):
        self.run_script(
            """
            before = os.sched_getaffinity(0)
            product()
            attune.set_num_threads(1)
            product()
            assert os.sched_getaffinity(0) == before
            """
        )

    @unittest.skipIf(CORES < 2, "one core: all limits are 1")
    def test_shapes_are_tuned_and_served_under_the_limit_of_their_calls(self):
        self.run_script(
            """
            import csv
            attune.set_num_threads(1)
            with attune.capture("captures"):
                attune.gemm_a16w16(x[:2], w)
            results = attune.tune("captures/bf16_untuned_gemm.csv", "tuned.csv", max_trials=1, quiet_wait=0,
                                  libtype="portable,onednn")
            assert len(results) == 1, results
            with open("tuned.csv") as file:
                assert [row["cu_num"] for row in csv.DictReader(file)] == ["1"]
            os.environ["ATTUNE_CONFIG_GEMM_BF16"] = "tuned.csv"
            attune.reload()
            problem = "gemm_a16w16 m=2 n=512 k=512 dtype=fp32"
            assert "tuned.csv:2" in attune.explain(problem)
            attune.set_num_threads(0)
            assert "tuned.csv" not in attune.explain(problem)
            """
        )

    def test_reports_a_limit_that_is_no_number(self):
        log = self.run_script(f"product(); assert attune.get_num_threads() == {CORES}", ATTUNE_THREADS="some")
        self.assertIn("ATTUNE_THREADS expects a number of threads from 1, ignoring it: 'some'", log)

    @unittest.skipIf(CORES < 2, "one core: every thread is on it")
    def test_has_its_team_on_all_cores_whoever_bound_the_caller(self):
        """The application's own copy of libgomp binds the calling thread to one core before Attune loads the system's."""
        own_copy = """
            import subprocess
            found = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
            system = next(line.split()[-1] for line in found.splitlines() if "libgomp.so.1 " in line)
            copy = open(system, "rb").read().replace(b"libgomp.so.1\\0", b"libgomp.so.9\\0")
            open("libgomp-own.so.9", "wb").write(copy)
            own = ctypes.CDLL(os.path.abspath("libgomp-own.so.9"), mode=os.RTLD_LOCAL)
            region = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
            own.GOMP_parallel(region, None, 2, 0)
            assert len(os.sched_getaffinity(0)) == 1, "the copy has bound this thread"
            before = set(cores_of_threads())
        """
        check = f"""
            assert attune.get_num_threads() == {CORES}, attune.get_num_threads()
            call()
            team = [cores for thread, cores in cores_of_threads().items() if thread not in before]
            mine = os.sched_getaffinity(0)
            assert len(mine) == 1, mine
            assert any(cores - mine for cores in team), (mine, team)
        """
        for solver in ("", "onednn", "blis", "libxsmm", "jit_cpu"):  # OpenBLAS may be NumPy's, with its pool.
            candidate = f"""
                def call():
                    product()
                problem = "gemm_a16w16 m=64 n=512 k=512 dtype=fp32"
                if {solver!r}:
                    listed = {{one["solver"]: one["candidates"].values() for one in attune.candidates(problem)}}
                    named = [one for one in listed.get({solver + ".gemm"!r}, ()) if "threads={CORES}" in one]
                    if not named:
                        raise SystemExit
                    def call():
                        y = np.zeros((64, 512), np.float32)
                        attune.run(problem, named[0], [x, w, y])
                        assert (y == 512).all()
            """
            with self.subTest(solver or "the default"):
                text = "".join(map(textwrap.dedent, (own_copy, candidate, check)))
                self.run_script(text, OMP_PROC_BIND="true")


if __name__ == "__main__":
    unittest.main()
