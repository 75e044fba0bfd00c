# SPDX-License-Identifier: MIT
"""--libraries-of: the program looks for CUDA's libraries where the packages of a Python have them."""
import sys
import unittest

import story


class LibrariesOf(story.Story):
    def package(self, name, library="libcublasLt.so.13"):
        """A folder of packages whose libraries are text; the driver's too, which every command that lists devices opens."""
        libraries = self.folder / "packages" / name
        libraries.mkdir(parents=True)
        (libraries / library).write_text("no library\n")
        (libraries / "libcuda.so.1").write_text("no driver\n")
        return libraries

    def listed(self, python, status=0):
        return self.attune("list", "devices", "--libraries-of", python, status=status, env={"PYTHONPATH": str(self.folder / "packages")})

    def test_libraries_are_looked_for_in_the_packages_of_the_python(self):
        for name in ("nvidia/cublas/lib", "nvidia/cu13/lib", "torch/lib"):
            with self.subTest(name):
                libraries = self.package(name)
                self.assertIn(str(libraries / "libcuda.so.1"), self.listed(sys.executable).stderr)
                (libraries / "libcublasLt.so.13").unlink()
        self.assertNotIn("libcuda.so.1", self.attune("list", "devices").stderr, "without the flag")

    def test_packages_in_the_working_folder_are_nobodys(self):
        own = self.work / "nvidia" / "cublas" / "lib"
        own.mkdir(parents=True)
        for name in ("libcublasLt.so.13", "libcuda.so.1"):
            (own / name).write_text("no library\n")
        self.assertNotIn(str(own), self.listed(sys.executable, status=None).stderr)

    def test_what_else_a_python_prints_is_no_folder(self):
        libraries = self.package("nvidia/cublas/lib")
        (self.folder / "packages" / "sitecustomize.py").write_text("import atexit, sys\natexit.register(lambda: sys.stderr.write('bye\\n'))\n")
        self.assertIn(str(libraries / "libcuda.so.1"), self.listed(sys.executable).stderr)
        other = self.folder / "other"
        other.write_text("#!/bin/sh\necho folders=/no/such/folder\n")
        other.chmod(0o700)
        self.assertIn("names a folder of libraries that is none: '/no/such/folder'", self.listed(str(other), status=2).stderr)

    def test_a_python_without_such_packages_is_refused(self):
        self.package("nvidia/cublas/lib", library="libcurand.so.10")
        self.assertIn("has no package with cuBLASLt", self.listed(sys.executable, status=2).stderr)

    def test_what_is_no_python_is_refused_in_a_sentence(self):
        failing = self.folder / "failing"
        failing.write_text("#!/bin/sh\necho it is broken >&2\nexit 3\n")
        failing.chmod(0o700)
        for python, words in (("/no/such/python", "this is none: '/no/such/python'"), ("no-such-python", "this is none"), ("/bin/true", "exited"),
                              (str(failing), "exited with status 3: it is broken")):
            with self.subTest(python):
                result = self.listed(python, status=2)
                self.assertIn(words, result.stderr)
                self.assertEqual(len(result.stderr.strip().splitlines()), 1)


if __name__ == "__main__":
    story.main()
