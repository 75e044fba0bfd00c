# SPDX-License-Identifier: MIT
"""The hash that a build gives a solver of generated kernels, its component `kernel.<solver>`, follows the solver's sources."""
import pathlib
import re
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "HashSources.cmake"


class HashSources(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "solver"
        self.folder.mkdir()
        self.put("generator.cpp", "text\n")
        self.put("plan.h", "plan\n")

    def put(self, name, content):
        (self.folder / name).write_text(content)

    def hash(self, toolchain="GNU 12.2.0 Release"):
        header = self.folder.parent / "hash.h"
        subprocess.run(["cmake", f"-DOUTPUT={header}", "-DNAMESPACE=solver", f"-DFOLDER={self.folder}",
                        f"-DTOOLCHAIN={toolchain}", "-P", str(SCRIPT)], check=True, capture_output=True)
        return re.search(r'kSourcesHash = "([0-9a-f]{64})"', header.read_text())[1]

    def test_it_changes_with_content_names_and_compiler_and_with_nothing_else(self):
        first = self.hash()
        self.assertEqual(self.hash(), first)
        self.put("generator_test.cpp", "a test\n")
        self.put("README.md", "words\n")
        self.put("dot_source.cpp", "the text of a kernel, which its recipe names\n")
        self.assertEqual(self.hash(), first)
        seen = {first, self.hash("GNU 13.1.0 Release")}
        self.put("plan.h", "another plan\n")
        seen.add(self.hash())
        (self.folder / "plan.h").rename(self.folder / "plans.h")
        seen.add(self.hash())
        self.put("more.cpp", "")
        seen.add(self.hash())
        self.assertEqual(len(seen), 5)


if __name__ == "__main__":
    unittest.main()
