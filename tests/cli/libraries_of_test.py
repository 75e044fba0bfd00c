# SPDX-License-Identifier: MIT
"""--libraries-of: the program looks for CUDA's libraries where the packages of a Python have them."""
import json
import shutil
import subprocess
import sys
import unittest

import cuda_kernels_test
import story

# What a kernel's compilation says of a library of that name which has one function alone.
IS_OPENED = "NVRTC is older than version 12, install a newer one: it has no "


class LibrariesOf(story.Story):
    def setUp(self):
        super().setUp()
        cuda_kernels_test.skip_without_jit_cuda(self)
        compiler = shutil.which("cc") or shutil.which("c++")
        if compiler is None:
            self.skipTest("there is no compiler here for a library that stands for NVRTC")
        self.put("one_function.c", "int nvrtcVersion(int* major, int* minor) { return *major = *minor = 0; }\n")
        self.nvrtc = self.work / "nvrtc.so"
        subprocess.run([compiler, "-x", "c", "-shared", "-fPIC", "-o", self.nvrtc, self.work / "one_function.c"], check=True)
        self.put("h200.json", json.dumps(cuda_kernels_test.H200))
        self.put("bf16_tuned_gemm.csv", cuda_kernels_test.table((8, 64, 4096, cuda_kernels_test.STREAM)))

    def package(self, name, library="libcublasLt.so.13"):
        """A folder of packages; NVRTC, with which kernels are compiled, is the one that stands for it. The driver's files are text."""
        libraries = self.folder / "packages" / name
        libraries.mkdir(parents=True)
        (libraries / library).write_text("no library\n")
        shutil.copy(self.nvrtc, libraries / "libnvrtc.so.13")
        for file in ("libcuda.so.1", "libnvidia-ml.so.1"):
            (libraries / file).write_text("no driver\n")
        return libraries

    def built(self, *flags, status=None):
        """Builds a kernel of a GPU, for which NVRTC is opened."""
        return self.attune("kernels", "build", "--table", "bf16_tuned_gemm.csv", "--device-info", "h200.json", "--cache", self.work / "cache",
                           *flags, status=status, env={"PYTHONPATH": str(self.folder / "packages")})

    def of(self, python, status=None):
        return self.built("--libraries-of", python, status=status)

    def test_libraries_are_looked_for_in_the_packages_of_the_python(self):
        for name in ("nvidia/cublas/lib", "nvidia/cu13/lib", "torch/lib"):
            with self.subTest(name):
                libraries = self.package(name)
                self.assertIn(IS_OPENED, self.of(sys.executable).stderr)
                (libraries / "libcublasLt.so.13").unlink()
        self.assertNotIn(IS_OPENED, self.built().stderr, "without the flag")

    def test_the_driver_and_its_utilities_are_the_machines(self):
        libraries = self.package("nvidia/cublas/lib")
        environment = {"PYTHONPATH": str(self.folder / "packages")}
        for command in (("devices",), ("solvers",)):
            wanted = self.attune("list", *command, env=environment)
            found = self.attune("list", *command, "--libraries-of", sys.executable, env=environment)
            self.assertEqual((found.stdout, found.stderr), (wanted.stdout, wanted.stderr))
            self.assertNotIn(str(libraries), found.stdout + found.stderr)

    def test_packages_in_the_working_folder_are_nobodys(self):
        own = self.work / "nvidia" / "cublas" / "lib"
        own.mkdir(parents=True)
        (own / "libcublasLt.so.13").write_text("no library\n")
        shutil.copy(self.nvrtc, own / "libnvrtc.so.13")
        self.assertNotIn(IS_OPENED, self.of(sys.executable).stderr)

    def test_what_else_a_python_prints_is_no_folder(self):
        self.package("nvidia/cublas/lib")
        (self.folder / "packages" / "sitecustomize.py").write_text("import atexit, sys\natexit.register(lambda: sys.stderr.write('bye\\n'))\n")
        self.assertIn(IS_OPENED, self.of(sys.executable).stderr)
        other = self.folder / "other"
        other.write_text("#!/bin/sh\necho folders=/no/such/folder\n")
        other.chmod(0o700)
        self.assertIn("names a folder of libraries that is none: '/no/such/folder'", self.of(str(other), status=2).stderr)

    def test_a_python_without_such_packages_is_refused(self):
        self.package("nvidia/cublas/lib", library="libcurand.so.10")
        self.assertIn("has no package with cuBLASLt", self.of(sys.executable, status=2).stderr)

    def test_what_is_no_python_is_refused_in_a_sentence(self):
        failing = self.folder / "failing"
        failing.write_text("#!/bin/sh\necho it is broken >&2\nexit 3\n")
        failing.chmod(0o700)
        for python, words in (("/no/such/python", "this is none: '/no/such/python'"), ("no-such-python", "this is none"), ("/bin/true", "exited"),
                              (str(failing), "exited with status 3: it is broken")):
            with self.subTest(python):
                result = self.of(python, status=2)
                self.assertIn(words, result.stderr)
                self.assertEqual(len(result.stderr.strip().splitlines()), 1)


if __name__ == "__main__":
    story.main()
