# SPDX-License-Identifier: MIT
"""tools/gpu-check on an archive whose programs are scripts: parts, their limits, what is done again, the report."""
import json
import os
import shutil
import subprocess
import sys
import tarfile
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

    def check(self, *arguments, **variables):
        environment = {**os.environ, "PATH": f"{self.folder / 'path'}:{os.environ['PATH']}", **variables}
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
            self.script(f"bin/attune_tests_{row}", "echo '[==========] 2 tests from 1 test suite ran. (1 ms total)'")
        self.assertEqual(self.check("--parts", "tests").returncode, 0)

    def test_tests_that_are_skipped_are_counted_and_all_of_them_are_a_failure(self):
        counts = "echo '[==========] 2 tests from 1 test suite ran. (1 ms total)'; "
        self.script("bin/attune_tests_3", counts)
        self.script("bin/attune_tests_5", counts + "echo '[  SKIPPED ] 1 test, listed below:'")
        done = self.check("--parts", "tests")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("1 of 4 tests were skipped", done.stdout)
        self.assertIn("1 of 4 tests were skipped", (self.out / "report.md").read_text())
        for one in (counts + "echo '[  SKIPPED ] 2 tests, listed below:'", "echo '[==========] 0 tests from 0 test suites ran. (0 ms total)'",
                    "echo 'Ran 2 tests in 0.1s'; echo 'OK (skipped=2)'"):
            for row in (3, 5):
                self.script(f"bin/attune_tests_{row}", one)
            self.assertEqual(self.check("--parts", "tests", "--again").returncode, 1, one)
            self.assertIn("all tests were skipped", self.state()["tests"]["status"])

    def test_a_place_that_cannot_be_written_and_a_damaged_state_are_one_sentence(self):
        (self.folder / "file").write_text("")
        for arguments in (("--out", str(self.folder / "file")), ("--out", "/proc/nowhere"), ("--archive", str(self.folder)), ("--archive", "/nowhere/a.tar.xz")):
            done = self.check(*arguments, "--parts", "machine")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        for text in ("{bad", "[]"):
            self.out.mkdir(exist_ok=True)
            (self.out / "state.json").write_text(text)
            done = self.check("--parts", "machine")
            self.assertEqual(done.returncode, 2)
            self.assertIn("state.json is damaged: remove it", done.stderr)

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

    def python(self, *modules):
        """The packages that a Python finds besides those of the archive."""
        there = self.folder / "there"
        for module in modules:
            file = there / module
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        self.script("bin/python", f"PYTHONPATH=$PYTHONPATH:{there} exec {sys.executable} -S \"$@\"")
        return {"ATTUNE_PYTHON": str(self.folder / "bin" / "python")}

    def package(self, text):
        """The package of the archive, and stories of PyTorch that import it."""
        story = "import os, subprocess\nsubprocess.run([os.environ['ATTUNE_PYTHON'], '-c', 'import attune; print(attune.__file__)'], check=True)\nprint('Ran 1 test in 0.1s')\n"
        for name, of in {"package/attune/__init__.py": text, "package/attune/torch.py": "", "tests/gpu/pytorch_test.py": story}.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(of)

    def test_parts_of_pytorch_import_the_package_of_the_archive(self):
        self.package("")
        done = self.check("--parts", "pytorch", **self.python("torch.py"))
        self.assertRegex(done.stdout, "pytorch: ok")
        self.assertIn(str(self.folder / "package/attune"), (self.out / "pytorch.log").read_text())

    def test_a_package_that_a_python_cannot_import_does_not_hide_its_own(self):
        self.package("import a_newer_python")
        done = self.check("--parts", "pytorch", **self.python("torch.py", "attune/__init__.py", "attune/torch.py"))
        self.assertRegex(done.stdout, "cannot use the package of the archive: .*No module named 'a_newer_python'")
        self.assertRegex(done.stdout, "pytorch: ok")
        self.assertIn(str(self.folder / "there/attune"), (self.out / "pytorch.log").read_text())

    def test_a_part_that_lacks_a_module_is_skipped_with_the_reason_and_tried_again(self):
        self.package("")
        (self.folder / "python/benchmarks").mkdir(parents=True)
        (self.folder / "python/benchmarks/models.py").write_text("import sys\nprint(sys.argv[1:])\n")
        done = self.check("--parts", "models", **self.python("torch.py"))
        self.assertEqual(done.returncode, 0, "what cannot run has not failed")
        self.assertRegex(done.stdout, "models: skipped: .*No module named 'transformers'")
        self.assertIn("No module named 'transformers'", (self.out / "report.md").read_text())
        done = self.check("--parts", "models", **self.python("torch.py", "transformers.py"))
        self.assertRegex(done.stdout, "models: ok")
        self.assertIn("'--device', 'cuda:0'", (self.out / "models.log").read_text())

    def test_the_archive_of_the_results_is_whole_after_each_part_and_without_journals(self):
        self.script("bin/attune", "mkdir -p home/kernels deep; for file in there.txt there.db-wal home/kernels/one deep/one.csv; do echo text > $file; done")
        archive = self.out / "results.tar.xz"
        self.out.mkdir()
        self.assertEqual(self.check("--parts", "machine", "--archive", archive).returncode, 0)
        with tarfile.open(archive) as packed:
            wanted = ("deep/one.csv", "machine.log", "report.md", "state.json", "there.txt")
            self.assertEqual(sorted(packed.getnames()), [f"out/{name}" for name in wanted])
        self.script("bin/attune", "sleep 30")
        self.assertEqual(self.check("--parts", "check", "--archive", archive, "--limit", "6").returncode, 1)
        with tarfile.open(archive) as packed:
            self.assertIn("out/check.log", packed.getnames())
        self.assertEqual([file.name for file in self.out.glob(".*")], [])

    def test_bad_arguments_are_refused(self):
        for arguments, sentence in ((("--parts", "nothing"), "no such part: nothing"),
                                    (("--archive", self.folder / "no/results.tar.xz"), "there is no folder for --archive")):
            done = self.check(*arguments)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, f"^gpu-check: {sentence}.*\n$")
            self.assertFalse(self.out.exists())


if __name__ == "__main__":
    unittest.main()
