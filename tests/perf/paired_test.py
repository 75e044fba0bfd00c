# SPDX-License-Identifier: MIT
"""tests/perf/paired with two builds whose times are planted."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Both programs of a build. The file `factor` beside them is by how much it is slower.
PROGRAM = """#!{python}
import json, pathlib, sys
here = pathlib.Path(sys.argv[0]).parent
with open(here.parent / "log", "a") as log:
    log.write(here.name + " " + pathlib.Path(sys.argv[0]).name + "\\n")
factor = float((here / "factor").read_text())
if factor == 0:
    sys.stderr.write("it has no times")
    sys.exit(3)
if sys.argv[1] == "tune":
    print(json.dumps({{"results": [{{"seconds": factor}}, {{"seconds": 2 * factor}}]}}))
else:
    names = ("exact", "padded", "miss", "served")
    print(json.dumps({{"benchmarks": [{{"name": name + "/real_time/threads:1", "cpu_time": 50 * factor}} for name in names]}}))
"""


class Paired(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        for side in ("before", "after"):
            (self.folder / side).mkdir()
            for name in ("attune", "attune_dispatch_benchmark"):
                program = self.folder / side / name
                program.write_text(PROGRAM.format(python=sys.executable))
                program.chmod(0o755)

    def compare(self, after, *more, rounds=6):
        """Compares builds of which the second takes so many times as long; returns the process and its rows' last two cells."""
        (self.folder / "before" / "factor").write_text("1")
        (self.folder / "after" / "factor").write_text(str(after))
        done = subprocess.run([sys.executable, "-B", HERE / "paired", self.folder / "before", self.folder / "after", "--rounds", str(rounds),
                               "--json", self.folder / "pairs.json", *more], capture_output=True, text=True, timeout=60, check=False)
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()[2:]]
        return done, {row[0]: tuple(row[4:]) for row in rows}

    def test_builds_that_are_as_fast_meet_the_bar(self):
        done, rows = self.compare(1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(rows), 9)
        self.assertEqual(set(rows.values()), {("1.000 [1.000, 1.000]", "met")})
        pairs = json.loads((self.folder / "pairs.json").read_text())["pairs"]
        self.assertEqual(pairs["exact"], [[50, 50]] * 6)
        self.assertEqual(pairs["exhaustive, libraries"], [[3, 3]] * 6)

    def test_a_build_that_is_slower_is_worse(self):
        done, rows = self.compare(1.05, "--only", "lookups")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(set(rows.values()), {("1.050 [1.050, 1.050]", "worse")})
        _, rows = self.compare(1.05, "--only", "lookups", "--most", "1.06")
        self.assertEqual({verdict for _, verdict in rows.values()}, {"met"})

    def test_both_run_once_in_each_round_in_changing_order(self):
        self.compare(1, "--only", "lookups", rounds=12)
        sides = [line.split()[0] for line in (self.folder / "log").read_text().splitlines()][2:]
        rounds = [tuple(sides[i:i + 2]) for i in range(0, len(sides), 2)]
        self.assertEqual(len(rounds), 12)
        self.assertEqual(set(rounds), {("before", "after"), ("after", "before")})

    def test_a_program_that_fails_ends_it_with_its_words(self):
        done, rows = self.compare(0, "--only", "race, fake device")
        self.assertIn("it has no times", done.stderr + done.stdout)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(rows, {})
        (self.folder / "after" / "attune").unlink()
        done, _ = self.compare(1)
        self.assertIn(f"there is no attune in {self.folder / 'after'}", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
