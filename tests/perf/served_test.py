# SPDX-License-Identifier: MIT
"""tests/perf/served with applications whose times are planted, so that its figures and judgements are known."""
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from served_report import Report, Row, Run
from served_runs import models_of
from served_statistics import Figures, Ratio, Stated, agrees, clean_rounds, stated_mean
from served_turns import Round, busy_ticks, process_ticks

HERE = Path(__file__).resolve().parent
# Answers as attune_served does. A table has lines `MATCH US` and names the times of its layers; without one a call takes 100 µs.
APPLICATION = """#!{python}
import os, sys, time
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
layers = open(words["--layers"]).read().splitlines()
rows = [line.split() for line in open(words["--table"])] if "--table" in words else [("fallback", "100")] * len(layers)
for match, _ in rows:
    print("layer", match, "own")
print("ready", flush=True)
turns = 0
for line in sys.stdin:
    passes, *order = map(int, line.split())
    turns += 1
    if rows[0][1] == "dies" and turns > 3:
        sys.exit("planted")
    with open("{log}", "a") as log:
        log.write("begin " + ("tuned" if "--table" in words else "default") + "\\n")
    time.sleep(0.002)
    with open("{log}", "a") as log:
        log.write("end\\n")
    wave = 1 + 0.001 * (turns % 3)
    print(*(wave * float(rows[layer][1].replace("dies", "1")) for layer in order), flush=True)
"""
SHAPES = "M,N,K,dtype\n1,32,48,fp32\n4,32,48,fp32\n4,64,32,fp32\n"


def decision(m, n, k, speedup, verdict="faster"):
    return {"decision": {"problem": f"gemm_a16w16 m={m} n={n} k={k} dtype=fp32 outdtype=fp32 bias=0", "speedup": speedup,
                         "interval": [0.99 * speedup, 1.01 * speedup], "verdict": verdict, "winner": "w", "default": "d"}}


class Experiment(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.log = self.folder / "turns.log"
        application = self.folder / "attune_served"
        application.write_text(APPLICATION.format(python=sys.executable, log=self.log))
        application.chmod(0o755)
        (self.folder / "shapes.csv").write_text(SHAPES)

    def serve(self, rows, decisions, *more):
        """Runs the experiment with a table of planted rows; returns the process and its JSON."""
        (self.folder / "table").write_text("".join(f"{match} {us}\n" for match, us in rows))
        (self.folder / "stated.json").write_text(json.dumps({"results": decisions}))
        done = subprocess.run(
            [sys.executable, "-B", HERE / "served", "--build", self.folder, "--tables", self.folder / "table",
             "--stated", self.folder / "stated.json", "--shapes", self.folder / "shapes.csv", "--folder", self.folder / "work",
             "--rounds", "6", "--openings", "2", "--turn-seconds", "0.01", "--quiet-wait", "0",
             "--json", self.folder / "out.json", "--markdown", self.folder / "out.md", *more],
            capture_output=True, text=True, check=False, env={**os.environ, "ATTUNE_CONFIG_GEMM_BF16": "/nowhere"})
        out = self.folder / "out.json"
        return done, json.loads(out.read_text()) if out.exists() else None

    def test_what_is_served_as_stated_meets_the_bars(self):
        done, report = self.serve([("exact", 50), ("exact", 80), ("exact", 100)],
                                  [decision(1, 32, 48, 2), decision(4, 32, 48, 1.25), decision(4, 64, 32, 1, "tie")])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(report["bars"], {"means": True, "slower": True})
        self.assertEqual((report["claimed"], report["slower"]), (2, [[], []]))
        mean = 2.5 ** (1 / 3)
        for one in report["means"]:
            self.assertAlmostEqual(one["stated"]["value"], mean, 6)
            self.assertAlmostEqual(one["served"]["value"], mean, 2)
            self.assertLess(one["served_over_stated"]["low"], 1)
            self.assertGreater(one["served_over_stated"]["high"], 1)
        self.assertIn("| fp32 | 1 | 3 |", done.stdout)
        self.assertEqual((self.folder / "out.md").read_text(), done.stdout)

    def test_rows_that_are_slower_when_served_are_found(self):
        done, report = self.serve([("exact", 125)] * 3, [decision(*shape, 1.25) for shape in ((1, 32, 48), (4, 32, 48), (4, 64, 32))],
                                  "--runs", "1")
        self.assertEqual(done.returncode, 0, "the exit status does not depend on the bars")
        self.assertEqual(report["bars"], {"means": False, "slower": False})
        self.assertEqual(report["slower"], [["1×32×48 fp32", "4×32×48 fp32", "4×64×32 fp32"]])
        self.assertAlmostEqual(report["runs"][0]["rows"][0]["ratio"]["value"], 0.8, 2)
        self.assertRegex(done.stdout, r"\*\*missed\*\*|noisy, not judged")
        self.assertRegex(report["summary"], r"3 rows called faster.*: 3 in run 1; worst row .*served 0\.80")

    def test_a_row_that_another_kernel_serves_is_not_compared(self):
        _, report = self.serve([("exact", 50), ("predicted", 500), ("exact", 50)],
                               [decision(*shape, 2) for shape in ((1, 32, 48), (4, 32, 48), (4, 64, 32))], "--runs", "1")
        self.assertIn("predicted", report["not_compared"]["4×32×48 fp32"])
        self.assertEqual((report["claimed"], report["slower"], report["bars"]["means"]), (2, [[]], True))

    def test_one_application_runs_at_a_time_in_changing_order(self):
        self.serve([("exact", 50)] * 3, [], "--runs", "1", "--rounds", "20")
        words = self.log.read_text().split()
        turns = re.findall(r"begin (\w+) end", " ".join(words))
        self.assertEqual(3 * len(turns), len(words), "a turn began before the last one had ended")
        first = turns[::2]
        self.assertIn("tuned", first)
        self.assertIn("default", first)

    def test_an_application_that_dies_ends_the_experiment_with_a_sentence(self):
        done, report = self.serve([("exact", "dies")] * 3, [])
        self.assertEqual((done.returncode, report), (1, None))
        self.assertIn("served: an application ended: planted", done.stderr)


def rounds_of(pairs, others=()):
    """Rounds of one layer, from (default, tuned) in µs."""
    shares = list(others) or [0.0] * len(pairs)
    return [Round({"default": {0: default}, "tuned": {0: tuned}}, share) for (default, tuned), share in zip(pairs, shares)]


class Statistics(unittest.TestCase):
    def test_disturbed_rounds_are_dropped(self):
        rounds = rounds_of([(100, 50)] * 6 + [(900, 50)] * 7, [0.01] * 6 + [0.2] * 7)
        figures = Figures([rounds], [0])
        self.assertEqual((len(figures.rounds), figures.is_noisy), (6, False))
        self.assertAlmostEqual(figures.served(0).ratio.value, 2)

    def test_too_few_undisturbed_rounds_are_noisy_and_the_less_disturbed_half_remains(self):
        kept, is_noisy = clean_rounds([rounds_of([(100, 50)] * 4, [0.01, 0.3, 0.2, 0.9]), rounds_of([(100, 50)] * 4, [0.8, 0.7, 0.6, 0.1])])
        self.assertTrue(is_noisy)
        self.assertEqual([[one.others for one in rounds] for rounds in kept], [[0.01, 0.3, 0.2], [0.1]])

    def test_a_noisy_run_meets_and_misses_no_bar(self):
        for share, words in ((0.0, ("| met |", "**missed**")), (0.5, ("noisy, not judged",))):
            figures = Figures([rounds_of([(100, 50)] * 8, [share] * 8)], [0])
            stated = [Stated(Ratio(4, 3.9, 4.1), "faster", "w", "d")]
            text = Report([Row(1, 8, 8, "fp32", False, "")], stated, [Run("warm", figures, [figures.served(0)], 8, 3)], [], {}).markdown()
            self.assertEqual([word in text for word in ("| met |", "**missed**", "noisy, not judged")],
                             [word in words for word in ("| met |", "**missed**", "noisy, not judged")])

    def test_the_interval_covers_the_variation_between_openings(self):
        # Within an opening nothing varies: only whole openings that are drawn again can tell.
        ratio = Figures([rounds_of([(default, 100)] * 9) for default in (100, 120, 140)], [0]).served(0).ratio
        self.assertAlmostEqual(ratio.value, 1.2)
        self.assertAlmostEqual(ratio.low, 1.0)
        self.assertAlmostEqual(ratio.high, 1.4)

    def test_geometric_means_agree_within_three_percent(self):
        self.assertTrue(agrees(Ratio(0.971, 0, 9)) and agrees(Ratio(1.029, 0, 9)))
        self.assertFalse(agrees(Ratio(0.969, 0, 9)) or agrees(Ratio(1.031, 0, 9)))

    def test_the_statement_has_the_noise_of_its_rows(self):
        mean = stated_mean([Ratio(2, 2 / 1.1, 2 * 1.1), Ratio(0.5, 0.5 / 1.1, 0.5 * 1.1)])
        self.assertAlmostEqual(mean.value, 1)
        self.assertAlmostEqual(math.log(mean.high), math.log(1.1) / math.sqrt(2))

    def test_clocks_are_read_from_the_kernels_text(self):
        stat = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 10 1 5 100 7 2 3 4 0 0\ncpu1 20 0 0 50 0 0 0 0 0 0\nintr 5\n"
        self.assertEqual(busy_ticks(stat, {0}), 25)
        self.assertEqual(busy_ticks(stat, {0, 1}), 45)
        self.assertEqual(process_ticks("12 (a) b) S 1 2 3 4 5 6 7 8 9 10 70 30 5 6 20 0"), 100)

    def test_a_model_has_the_layers_of_one_type_and_one_m(self):
        rows = [Row(m, n, 8, dtype, False, "") for dtype in ("fp32", "bf16") for n in (16, 32) for m in (1, 4)]
        self.assertEqual(models_of(rows), [[0, 2], [1, 3], [4, 6], [5, 7]])


if __name__ == "__main__":
    unittest.main()
