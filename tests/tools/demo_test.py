# SPDX-License-Identifier: MIT
"""What tools/demo says and returns, with a program in place of attune that does as it is told."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """#!/bin/sh
[ "$1" != report ] || { echo "$@" > reported; exit 2; }
echo "$@" > arguments
[ -z "$TABLE" ] || echo row > "$5"
exit $STATUS
"""


class Demo(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in (("tools/setup", "#!/bin/sh\n"), ("bin/cmake", "#!/bin/sh\n"), ("build/release/build.ninja", ""),
                           ("build/release/attune", PROGRAM)):
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        shutil.copy(ROOT / "tools" / "demo", self.root / "tools" / "demo")

    def demo(self, *arguments, program_status=0, table=""):
        environment = {"PATH": f"{self.root / 'bin'}:{os.environ['PATH']}", "STATUS": str(program_status), "TABLE": table}
        result = subprocess.run([self.root / "tools" / "demo", *arguments], env=environment, capture_output=True, text=True)
        return result.returncode, result.stderr

    def test_without_a_table_it_says_so_with_a_remedy_and_fails(self):
        for program_status in (0, 1):
            status, said = self.demo(program_status=program_status)
            self.assertEqual(status, 1)
            self.assertEqual(said.count("\n"), 1)
            for text in ("no shape was decided within the budget", "tools/demo --budget 15m", "it resumes"):
                self.assertIn(text, said)

    def test_with_a_table_it_ends_as_the_program_does(self):
        self.assertEqual(self.demo(table="yes"), (0, ""))
        self.assertEqual(self.demo(program_status=130, table="yes"), (130, ""))
        self.assertEqual(self.demo(program_status=1), (1, ""), "the table is of the run before")

    def test_with_a_table_a_report_is_made_and_does_not_change_the_end(self):
        self.demo(program_status=1)
        self.assertFalse((self.root / "reported").exists())
        self.assertEqual(self.demo(table="yes"), (0, ""))
        self.assertEqual((self.root / "reported").read_text(), "report -o build/demo/report.html\n")

    def test_another_status_is_the_programs_own(self):
        self.assertEqual(self.demo(program_status=3), (3, ""))

    def test_a_flag_replaces_its_own(self):
        table = "tune -i shapes/llm_cpu_untuned_gemm.csv -o build/demo/bf16_tuned_gemm.csv"
        for given, all_flags in (((), "--budget 165s --max-trials 16 --quiet-wait 15"),
                                 (("--budget", "15m"), "--max-trials 16 --quiet-wait 15 --budget 15m"),
                                 (("--max-trials=4", "--quiet-wait", "0"), "--budget 165s --max-trials=4 --quiet-wait 0")):
            self.demo(*given)
            self.assertEqual((self.root / "arguments").read_text().rstrip(), f"{table} {all_flags}")


if __name__ == "__main__":
    unittest.main()
