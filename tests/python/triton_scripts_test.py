# SPDX-License-Identifier: MIT
"""The scripts with which attune finds and runs Triton, without it: options of kernels, errors, incomplete packages."""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "src" / "compile" / "triton"


def imported(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Options(unittest.TestCase):
    script = imported("compile_kernels")

    def test_arguments_and_constants_go_to_their_places_in_any_order(self):
        signature, constants, attributes, launch = self.script.parsed(
            ["--constant=N:4", "--num-warps=8", "--argument=b:i32", "--argument=a:*bf16:16", "--constant=P:True", "--num-stages=3"],
            ["a", "b", "N", "P"], {})
        self.assertEqual(list(signature.items()), [("a", "*bf16"), ("b", "i32"), ("N", "constexpr"), ("P", "constexpr")])
        self.assertEqual(constants, {(2,): 4, (3,): True})
        self.assertIs(constants[(3,)], True)
        self.assertEqual(attributes, {(0,): [["tt.divisibility", 16]]})
        self.assertEqual(launch, {"num_warps": 8, "num_stages": 3})

    def test_a_parameter_without_an_option_has_its_default(self):
        signature, constants, _, _ = self.script.parsed(["--argument=a:i32"], ["a", "N"], {"N": 7})
        self.assertEqual(signature, {"a": "i32", "N": "constexpr"})
        self.assertEqual(constants, {(1,): 7})

    def test_other_options_are_refused(self):
        for option in ("--argument=a", "--argument=a:i32:32", "--argument=a:i32:16:16", "--constant=a", "--constant=a:x", "--num-warps=",
                       "--num-ctas=2", "-O", "", "--argument=c:i32"):
            with self.assertRaises(self.script.Refused, msg=option):
                self.script.parsed([option], ["a"], {})
        with self.assertRaisesRegex(self.script.Refused, "a, b"):
            self.script.parsed([], ["a", "b"], {})

    def test_an_error_starts_with_its_cause_and_is_bounded(self):
        try:
            try:
                raise ValueError("the cause")
            except ValueError as error:
                raise RuntimeError("x" * 100_000) from error
        except RuntimeError as error:
            text = self.script.described(self.script.chain(error))
        self.assertTrue(text.startswith("error: ValueError: the cause\nRuntimeError: x"))
        self.assertLessEqual(len(text), self.script.MAX_LOG)


    def test_only_what_the_compiler_rejects_is_a_rejection(self):
        class CompilationError(Exception):
            pass

        for errors, rejected in (([CompilationError()], True), ([RuntimeError(), SyntaxError()], True), ([RuntimeError()], False),
                                 ([CompilationError(), MemoryError()], False), ([CompilationError(), OSError()], False)):
            self.assertEqual(self.script.is_rejection(errors), rejected, errors)


class Package(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.facts = self.folder / "triton-3.9.0.dist-info"
        self.put(self.folder / "triton" / "__init__.py", "raise SystemExit(7)\n")
        self.put(self.facts / "METADATA", "Metadata-Version: 2.1\nName: triton\nVersion: 3.9.0\n")
        self.record(20)

    @staticmethod
    def put(file, text):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)

    def record(self, size, more=""):
        self.put(self.facts / "RECORD", f"triton/__init__.py,sha256=abc,{size}\n{more}")

    def found(self):
        done = subprocess.run([sys.executable, "-I", "-B", FOLDER / "find_package.py", self.folder], capture_output=True, text=True, check=True)
        return json.loads(done.stdout.split("attune-triton: ")[1])

    def test_it_is_found_without_being_imported(self):
        found = self.found()
        self.assertEqual(found["version"], "3.9.0")
        self.assertEqual(found["folder"], str(self.folder / "triton"))
        self.assertRegex(found["hash"], "^[0-9a-f]{64}$")

    def test_its_hash_follows_its_own_files_only(self):
        before = self.found()["hash"]
        self.record(20, "../../bin/proton,sha256=def,10\ntriton/__pycache__/a.pyc,,\n")
        self.assertEqual(self.found()["hash"], before)
        self.put(self.folder / "triton" / "more.py", "")
        self.record(20, "triton/more.py,sha256=ghi,0\n")
        self.assertNotEqual(self.found()["hash"], before)

    def test_a_file_that_is_missing_or_cut_is_named(self):
        self.record(21)
        self.assertEqual(self.found(), {"flaw": "incomplete", "file": str(self.folder / "triton" / "__init__.py")})
        self.record(20, "triton/gone.py,sha256=abc,1\n")
        self.assertEqual(self.found()["file"], str(self.folder / "triton" / "gone.py"))

    def test_without_a_list_of_files_it_is_not_used(self):
        (self.facts / "RECORD").unlink()
        self.assertEqual(self.found(), {"flaw": "without a list of its files"})


if __name__ == "__main__":
    unittest.main()
