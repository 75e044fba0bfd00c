# SPDX-License-Identifier: MIT
"""tests/perf/served_in_graphs with a program whose times are planted, so that its figures and judgements are known."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEAD = "problem,stated_us,served_us,served_of_stated,call_us,plan_us,hit_us,default_us,default,rounds_us,default_rounds_us"
ROUNDS = (1.0, 1.1, 0.9, 1.0, 1.05, 0.95)  # Both sides of a round alike: the clock.


def line(m, row_us, default_us, default="d@1:a=1"):
    rounds = [" ".join(f"{us * one:.4f}" for one in ROUNDS) for us in (row_us, default_us)]
    problem = f"gemm_a16w16 m={m} n=32 k=48 bias=0 dtype=bf16 outdtype=bf16 scale_ab=0 bpreshuffle=0"
    return ",".join(map(str, (problem, row_us, row_us, 1, 4, 3.5, 0.5, default_us, default, *rounds)))


def decision(m, speedup, default="d@1:a=1"):
    return {"decision": {"problem": f"gemm_a16w16 m={m} n=32 k=48 dtype=bf16 outdtype=bf16 bias=0", "speedup": speedup,
                         "verdict": "faster", "interval": [0.99 * speedup, 1.01 * speedup], "winner": "w", "default": default}}


class ServedInGraphs(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        (self.folder / "table.csv").touch()

    def report(self, lines, decisions, *more, status=0):
        """Returns the process and its JSON for a program that prints these lines."""
        program, stated, out = (self.folder / name for name in ("program", "stated.json", "out.json"))
        text = "\n".join((HEAD, *lines))
        program.write_text(f"#!{sys.executable}\nimport sys\nprint({text!r})\nsys.exit({status})\n")
        program.chmod(0o755)
        stated.write_text(json.dumps({"results": decisions}))
        command = [sys.executable, "-B", HERE / "served_in_graphs", "--table", self.folder / "table.csv", "--stated", stated,
                   "--program", program, "--json", out, "--markdown", self.folder / "out.md", *more]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return done, json.loads(out.read_text()) if out.exists() else None

    def test_the_speed_over_the_default_is_held_against_the_stated_one(self):
        done, report = self.report([line(1, 5, 10), line(240, 100, 110)], [decision(1, 2), decision(240, 1.2)])
        self.assertEqual(done.returncode, 0, done.stderr)
        first, second = (row["served"]["ratio"] for row in report["rows"])
        self.assertAlmostEqual(first["value"], 2, 3)
        self.assertAlmostEqual(second["value"], 1.1, 3)
        self.assertLessEqual(first["low"], first["value"])
        self.assertGreaterEqual(first["high"], first["value"])
        self.assertRegex(report["summary"], r"^2 of 2 rows compared: stated 1\.549 .*, served 1\.483 .*, served over stated 0\.957 .*missed.*, "
                                            r"within it 1 rows; slower than the default beyond their interval 0; a hit costs 0\.500")
        self.assertRegex(done.stdout, r"\| 240×32×48 bf16 \| 1\.200 .* \| 0\.917 \| 100 \| 100 \| 110 \| 4 \| 0\.5 \|")
        self.assertEqual((self.folder / "out.md").read_text(), done.stdout)

    def test_a_clock_that_is_lower_than_when_the_row_was_tuned_is_no_difference(self):
        _, report = self.report([line(240, 113, 135.6)], [decision(240, 1.2)])
        self.assertRegex(report["summary"], r"served over stated 1\.000 .*, met\), within it 1 rows")

    def test_rows_of_another_default_are_listed_and_not_compared(self):
        done, report = self.report([line(1, 5, 10), line(2, 5, 10)], [decision(1, 2), decision(2, 1.1, "torch.gemm@1:")])
        self.assertRegex(report["summary"], "^1 of 2 rows compared: .* within it 1 rows")
        self.assertIn("| against torch.gemm@1: |", done.stdout)
        self.assertEqual([row["is_compared"] for row in report["rows"]], [True, False])

    def test_a_row_that_is_slower_than_the_default_is_named(self):
        done, report = self.report([line(1, 10, 9)], [decision(1, 1.1)])
        self.assertRegex(report["summary"], "beyond their interval 1;")
        self.assertIn("**slower**", done.stdout)

    def test_rows_that_could_not_run_are_a_failure(self):
        done, report = self.report([line(1, 5, 10)], [decision(1, 2)], status=1)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(report["rows"]), 1)
        done, _ = self.report([], [], status=1)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "served_in_graphs: no row could run\n")

    def test_bad_input_is_refused(self):
        for more, sentence in ((("--rounds", "1"), "--rounds expects at least 2"), (("--table", "/no/table"), "there is no file /no/table"),
                               (("--stated", HERE / "served_in_graphs_test.py"), "--stated expects what `attune tune --json` printed")):
            with self.subTest(sentence):
                done, report = self.report([line(1, 5, 10)], [], *more)
                self.assertEqual((done.returncode, done.stdout, report), (2, "", None))
                self.assertIn(sentence, done.stderr)


if __name__ == "__main__":
    unittest.main()
