# SPDX-License-Identifier: MIT
"""tools/mutate: how it reads and plants faults, what it refuses, and that every fault fits the sources of today."""
import importlib.machinery
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
loader = importlib.machinery.SourceFileLoader("mutate", str(ROOT / "tools" / "mutate"))
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
sys.modules["mutate"] = mutate
loader.exec_module(mutate)

SOURCE = """#pragma once
#include <vector>
int f(int x) {
  if (x < 0 ||
      x > 9) return 0;
  return x + 1;
}
int g(int x) { return x + 2; }
"""
TEST = "TEST(F, IsRight) {}\n"
FAULT = """Plants: f() returns its argument.
Kills: unit F.IsRight

--- src/f.cpp
- return x + 1;
+ return x + (ATTUNE_FAULT ? 0 : 1);
"""


class Faults(unittest.TestCase):
    def check(self, **faults):
        """Runs --check on a small tree with these faults."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name)
        for name, text in {"src/f.cpp": SOURCE, "src/f_test.cpp": TEST, "notes.txt": "x\n",
                           **{f"tests/mutation/{name}.fault": text for name, text in faults.items()}}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        (root / "tools").mkdir()
        shutil.copy(ROOT / "tools" / "mutate", root / "tools")
        return subprocess.run([sys.executable, "-B", root / "tools" / "mutate", "--check"], capture_output=True, text=True)

    def refused(self, fault, sentence):
        result = self.check(wrong=fault)
        self.assertEqual((result.stderr, result.returncode), (f"mutate: tests/mutation/wrong.fault{sentence}\n", 2))

    def planted(self, file, text, edits, number=7):
        """The text of a file with edits, each (old, new)."""
        fault = mutate.Fault("named", tests=[("unit", "F.*")])
        made = mutate.planted(file, text, [(fault, mutate.Edit("here", file, old.split("\n"), new.split("\n"))) for old, new in edits])
        self.assertEqual(mutate.wrong, [])
        return made.replace(str(fault.number), "N")

    def test_every_fault_of_this_tree_fits(self):
        result = subprocess.run([sys.executable, "-B", ROOT / "tools" / "mutate", "--check"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        count = int(result.stdout.split()[0])
        self.assertTrue(0 < count <= 200, f"{count} faults: keep at most 200, drop one whose rule another breaks")

    def test_a_fault_that_fits(self):
        result = self.check(one=FAULT)
        self.assertEqual((result.stdout, result.returncode), ("1 faults fit the sources\n", 0), result.stderr)

    def test_text_that_is_absent(self):
        self.refused(FAULT.replace("- return x + 1;", "- return x + 3;"),
                     ":5: src/f.cpp lacks this text, adapt it to the code: return x + 3;")

    def test_text_that_is_not_unique(self):
        self.refused(FAULT.replace("- return x + 1;", "- return x +"),
                     ":5: src/f.cpp has this text 2 times, add words that make it unique: return x +")

    def test_texts_that_overlap(self):
        result = self.check(one=FAULT, two=FAULT.replace("- return x + 1;", "- x + 1;\n- }"))
        self.assertEqual(result.stderr, "mutate: tests/mutation/one.fault:5: its old text overlaps that of tests/mutation/two.fault:5, "
                                        "shorten one of them\n")
        self.assertEqual(result.returncode, 2)

    def test_a_file_that_is_gone(self):
        self.refused(FAULT.replace("src/f.cpp", "src/gone.cpp"),
                     ":5: there is no file 'src/gone.cpp', name the one that has the text now")

    def test_a_test_that_is_gone(self):
        self.refused(FAULT.replace("IsRight", "IsWrong"),
                     ":2: there is no such test, name one that notices the fault: unit F.IsWrong")

    def test_a_fault_that_is_always_active(self):
        self.refused(FAULT.replace("(ATTUNE_FAULT ? 0 : 1)", "0"),
                     ": test ATTUNE_FAULT in the new text, or the fault is always active")

    def test_a_file_without_a_switch(self):
        self.refused(FAULT.replace("src/f.cpp", "notes.txt").replace("return x + 1;", "x"),
                     ":5: notes.txt has no switch, plant the fault in C++, Python or a shell script")

    def test_a_line_that_is_none_of_the_format(self):
        self.refused(FAULT + "@@ -1 +1 @@\n",
                     ":7: expected 'Plants: ', 'Kills: ', '--- file', '- old text' or '+ new text'")

    def test_cpp_gets_the_switch_and_its_header(self):
        made = self.planted("src/f.cpp", SOURCE, [("return x + 1;", "if (ATTUNE_FAULT)\n  return 0;\nreturn x + 1;")])
        self.assertEqual(made, SOURCE.replace("#include <vector>", '#include "attune_fault.h"\n\n#include <vector>').replace(
            "  return x + 1;", "  if (attune_fault(N))\n    return 0;\n  return x + 1;"))

    def test_other_white_space_is_the_same_text(self):
        made = self.planted("src/f.cpp", SOURCE, [("if (x < 0 || x > 9)", "if (ATTUNE_FAULT)")])
        self.assertIn("\n  if (attune_fault(N)) return 0;\n", made)

    def test_several_edits_of_a_file(self):
        made = self.planted("src/f.cpp", SOURCE, [("x + 2", "(ATTUNE_FAULT ? 0 : x)"), ("x + 1", "(ATTUNE_FAULT ? 0 : x)")])
        self.assertEqual(made.count("attune_fault(N) ? 0 : x"), 2)

    def test_python_and_shell_get_their_switches(self):
        made = self.planted("a.py", "def f():\n    g()\n", [("g()", "if ATTUNE_FAULT:\n    return\ng()")])
        self.assertEqual(made, "def f():\n    if (__import__('os').environ.get('ATTUNE_FAULT') == 'N'):\n        return\n    g()\n")
        made = self.planted("ci/a", "#!/usr/bin/env bash\nif b; then\n", [("if b;", "if ATTUNE_FAULT || b;")])
        self.assertIn('if [ "${ATTUNE_FAULT:-}" = N ] || b; then', made)


if __name__ == "__main__":
    unittest.main()
