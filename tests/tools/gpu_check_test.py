# SPDX-License-Identifier: MIT
"""tools/gpu-check on an archive whose programs are scripts: parts, their limits, what is done again, the report."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class GpuCheck(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="attune_gpu_check_"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        for place in ("bin", "tools", "path", "shapes"):
            (self.folder / place).mkdir()
        shutil.copy(ROOT / "tools" / "gpu-check", self.folder / "tools")
        self.script("path/nvidia-smi", "echo A GPU")
        self.script("bin/attune", "echo attune \"$@\"; echo $LD_LIBRARY_PATH")
        self.out = self.folder / "out"

    def script(self, name, text):
        file = self.folder / name
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)

    def check(self, *arguments):
        environment = {**os.environ, "PATH": f"{self.folder / 'path'}:{os.environ['PATH']}"}
        return subprocess.run([sys.executable, self.folder / "tools" / "gpu-check", "--out", self.out, *arguments], env=environment,
                              capture_output=True, text=True, timeout=60)

    def state(self):
        return json.loads((self.out / "state.json").read_text())

    def test_a_part_that_has_ended_is_not_run_again(self):
        done = self.check("--parts", "machine")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"machine: ok")
        self.assertIn("attune list devices", (self.out / "report.md").read_text())
        self.assertIn(str(self.folder / "lib"), (self.out / "machine.log").read_text(), "its own libraries are found")
        self.assertEqual(self.check("--parts", "machine").stdout, "")
        self.assertRegex(self.check("--parts", "machine", "--again").stdout, r"machine: ok")

    def test_what_fails_is_said_and_tried_again(self):
        self.script("bin/attune_tests_3", "echo it fails; exit 3")
        done = self.check("--parts", "tests")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.state()["tests"]["status"], "failed: status 3 of command 1")
        self.assertIn("it fails", (self.out / "report.md").read_text())
        for row in (3, 5):
            self.script(f"bin/attune_tests_{row}", "echo fine")
        self.assertEqual(self.check("--parts", "tests").returncode, 0)

    def test_a_part_that_takes_too_long_is_cut_and_the_rest_is_left(self):
        self.script("bin/attune", "sleep 30")
        done = self.check("--parts", "machine,check", "--limit", "6")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"machine: cut after \d+ s.*\ncheck: no time is left")

    def test_the_figures_of_a_tuning_are_in_the_report(self):
        decided = {"decided": True, "candidates": 96, "decision": {"speedup": 1.21}}
        result = json.dumps({"results": [decided, {"decided": False, "candidates": 4}]})
        self.script("bin/attune", f"echo '{result}'")
        self.assertEqual(self.check("--parts", "tune").returncode, 0)
        report = (self.out / "report.md").read_text()
        self.assertIn("2 shapes, 1 decided, 100 candidates", report)
        self.assertIn("geometric mean 1.2100", report)

    def test_unknown_parts_are_refused(self):
        self.assertIn("no such part: nothing", self.check("--parts", "nothing").stderr)


if __name__ == "__main__":
    unittest.main()
