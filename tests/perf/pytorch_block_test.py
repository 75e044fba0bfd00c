# SPDX-License-Identifier: MIT
"""tests/perf/pytorch_block with an interpreter and a tuner whose times are planted, and what tests/perf/one_thread calls slower."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from one_thread_report import break_even, with_threads
from served_statistics import Ratio

HERE = Path(__file__).resolve().parent
# Answers as pytorch_block_worker.py does. The file `planted` has µs a step by side and the misses of the tuned side.
PYTHON = """#!{python}
import json, os, sys, time
planted = json.load(open("{folder}/planted"))
if sys.argv[1:] == ["-m", "attune.torch"]:
    print("operators.so")
    sys.exit()
mode = sys.argv[sys.argv.index("--mode") + 1]
threads = os.environ["OMP_NUM_THREADS"]
side = "stock" if mode == "stock" else "tuned" if "ATTUNE_CONFIG_GEMM_BF16" in os.environ else "untuned"
def log(*words):
    with open("{folder}/log", "a") as file:
        file.write(" ".join(words) + "\\n")
if "--capture" in sys.argv:
    log("capture", threads)
    folder = sys.argv[sys.argv.index("--capture") + 1]
    os.makedirs(folder, exist_ok=True)
    open(folder + "/bf16_untuned_gemm.csv", "w").write("M,N,K\\n")
    sys.exit()
print("ready", 0 if side == "stock" else 8, planted["misses"] if side == "tuned" else 0, flush=True)
for number, line in enumerate(sys.stdin):
    if planted[side] == "dies":
        sys.exit("planted")
    log("begin", side, threads)
    time.sleep(0.002)
    log("end", side, threads)
    us = planted[side] * (1 + 0.001 * (number % 3))
    print(1000, us / 1000, planted["cpu"] * us / 1000, flush=True)
"""
ATTUNE = """#!{python}
import os, sys
open("{folder}/log", "a").write("tune with " + os.environ["ATTUNE_TORCH_OPERATORS"] + "\\n")
open(sys.argv[sys.argv.index("-o") + 1], "w").write("planted\\n")
"""
CORES = len(os.sched_getaffinity(0))


class PytorchBlock(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        for name, text in (("python", PYTHON), ("attune", ATTUNE)):
            (self.folder / name).write_text(text.format(python=sys.executable, folder=self.folder))
            (self.folder / name).chmod(0o755)

    def compare(self, *more, stock=100, untuned=100, tuned=50, misses=0, cpu=1.0):
        """Runs the experiment with planted times; returns the process and its JSON."""
        (self.folder / "planted").write_text(json.dumps(
            {"stock": stock, "untuned": untuned, "tuned": tuned, "misses": misses, "cpu": cpu}))
        done = subprocess.run(
            [sys.executable, "-B", HERE / "pytorch_block", "--build", self.folder, "--python", self.folder / "python", "--folder",
             self.folder / "work", "--blocks", "fp32:16,bf16:16", "--rounds", "4", "--openings", "1", "--turn-seconds", "0.01",
             "--quiet-wait", "0", "--json", self.folder / "out.json", "--markdown", self.folder / "out.md", *more],
            capture_output=True, text=True, check=False)
        out = self.folder / "out.json"
        return done, json.loads(out.read_text()) if out.exists() else None

    def test_each_setting_has_a_row_for_each_block(self):
        done, report = self.compare()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(report["settings"]), 3 if CORES > 1 else 1)
        for setting in report["settings"].values():
            self.assertEqual([(row["block"], row["side"], round(row["ratio"][0], 1), row["slower"]) for row in setting["rows"]],
                             [(block, side, ratio, False) for block in ("fp32:16", "bf16:16") for side, ratio in (("untuned", 1.0), ("tuned", 2.0))])
        self.assertIn("| 1 process of 1 thread | fp32, batch 16 | 100 | 100 | 1.0", done.stdout)
        self.assertEqual((self.folder / "out.md").read_text(), done.stdout)

    def test_the_shapes_are_captured_under_each_limit_and_tuned_once(self):
        self.compare()
        words = (self.folder / "log").read_text().splitlines()
        self.assertEqual(words[:3] if CORES > 1 else words[:2], ["capture 1", *([f"capture {CORES}"] if CORES > 1 else []), "tune with operators.so"])
        table = self.folder / "given.csv"
        table.write_text("planted\n")
        (self.folder / "log").unlink()
        self.compare("--table", str(table))
        self.assertNotIn("tune with", (self.folder / "log").read_text())

    @unittest.skipIf(CORES < 2, "one core: there is one setting")
    def test_the_processes_of_one_side_run_at_once_and_no_others(self):
        self.compare()
        turns, running, most = [], {}, {}
        for words in (line.split() for line in (self.folder / "log").read_text().splitlines()):
            if words[0] == "begin":
                self.assertLessEqual({side for side, count in running.items() if count}, {words[1]}, "another side was running")
                running[words[1]] = running.get(words[1], 0) + 1
                most[words[2]] = max(most.get(words[2], 0), running[words[1]])
                turns.append(words[1])
            elif words[0] == "end":
                running[words[1]] -= 1
        self.assertEqual(most, {"1": 2, str(CORES): 1})
        self.assertEqual(set(turns), {"stock", "untuned", "tuned"})
        self.assertGreater(len({tuple(turns[i:i + 3]) for i in range(len(turns) - 12, len(turns), 3)}), 1, "the order never changes")

    def test_a_slower_block_and_busy_threads_are_found(self):
        done, report = self.compare(tuned=125, cpu=1.5)
        self.assertEqual(done.returncode, 0, "the exit status does not depend on the bars")
        self.assertTrue(all(row["slower"] == (row["side"] == "tuned") for row in report["settings"]["1 process of 1 thread"]["rows"]))
        self.assertRegex(done.stdout, r"\*\*slower\*\*|noisy, not judged")
        self.assertAlmostEqual(report["cpu_over_wall"]["1"], 1.5)
        self.assertIn("bar 1.05: **missed**", done.stdout)

    def test_products_without_a_row_are_reported(self):
        done, report = self.compare(misses=2)
        self.assertEqual(report["unserved"][0], "2 products of a step under a limit of 1 have no row")
        self.assertIn("Not served by rows: 2 products", done.stdout)

    def test_what_cannot_run_ends_with_a_sentence(self):
        done, report = self.compare(tuned="dies")
        self.assertEqual((done.returncode, report), (1, None))
        self.assertIn("pytorch_block: an application ended: planted", done.stderr)
        done, _ = self.compare("--python", "/nowhere/python")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the Python package is not built", done.stderr)


class OneThread(unittest.TestCase):
    def test_it_breaks_even_below_the_least_work_at_which_one_thread_is_slower(self):
        faster, equal = Ratio(2, 1.9, 2.1), Ratio(0.98, 0.9, 1.01)
        for slower in (Ratio(0.97, 0.95, 0.99), Ratio(0.85, 0.8, 1.1)):
            self.assertEqual(break_even([(10, faster), (20, equal), (30, slower), (40, faster)]), (20, 30))
            self.assertEqual(break_even([(20, faster), (20, slower), (10, faster)]), (10, 20))
            self.assertEqual(break_even([(10, slower), (20, faster)]), (0, 10))
        self.assertEqual(break_even([(10, faster), (20, equal)]), (20, None))

    def test_a_candidate_keeps_the_rest_of_its_config(self):
        self.assertEqual(with_threads("a.gemm@1+2:impl=x:y;threads=2", 1), "a.gemm@1+2:impl=x:y;threads=1")
        self.assertEqual(with_threads("a.gemm@1:num_threads=2;threads=16;z=1", 4), "a.gemm@1:num_threads=2;threads=4;z=1")


if __name__ == "__main__":
    unittest.main()
