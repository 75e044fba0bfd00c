# SPDX-License-Identifier: MIT
"""attune.torch in processes of their own: how its kernels are built, forks, tables, and what it says at the end."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

import attune

try:
    import torch  # noqa: F401
except ImportError as error:
    raise unittest.SkipTest(f"PyTorch is not installed (python3-torch): {error}")
import attune.torch
from attune import _torch_build

START = """
import os, sys
import torch
import attune, attune.torch
F = torch.nn.functional
x, w = torch.ones(4, 64), torch.ones(32, 64)
second_way = "library" if hasattr(torch.library, "get_kernel") else "python"  # Where the kernels cannot be compiled.
"""
CACHE = os.environ.get("ATTUNE_CACHE")  # Of the tests that run in this process: what they built is there.


class Processes(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="attune_torch_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, text, start=START, **variables):
        # A test of this process has named PyTorch's operators, where it has patched.
        inherited = {name: value for name, value in os.environ.items() if name != "ATTUNE_TORCH_OPERATORS"}
        environment = dict(inherited, ATTUNE_HOME=str(self.folder / "home"), ATTUNE_CACHE=str(self.folder / "cache"))
        return subprocess.Popen(
            [sys.executable, "-c", start + textwrap.dedent(text)],
            env={**environment, **{name: value for name, value in variables.items() if value is not None}},
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self, child):
        """Returns the lines of the standard error."""
        output, log = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 0, output + log)
        return [line for line in log.splitlines() if "no row of a table" not in line and "lookups found" not in line]

    def run_script(self, text, **variables):
        return self.end(self.start(text, **variables))

    def compiler(self, then):
        """A compiler that writes a line into `compilations` and then does what the shell's text `then` says."""
        path = self.folder / "compiler"
        path.write_text(f'#!/bin/sh\necho once >> "{self.folder}/compilations"\n{then}\n')
        path.chmod(0o700)
        return str(path)

    def num_compilations(self):
        try:
            return len((self.folder / "compilations").read_text().splitlines())
        except FileNotFoundError:
            return 0


class HowTheKernelsAreBuilt(Processes):
    def test_two_processes_compile_once_into_a_folder_of_this_user_alone(self):
        compiler = self.compiler('exec g++ "$@"')
        text = "os.umask(0); attune.torch.patch('dispatcher', untuned=True); assert (F.linear(x, w) == 64).all()"
        children = [self.start(text, ATTUNE_CXX=compiler) for _ in range(2)]
        for child in children:
            self.assertEqual(self.end(child), [])
        self.assertEqual(self.num_compilations(), 1)
        (library,) = (self.folder / "cache" / "torch").glob("*/*.so")
        self.assertEqual(sorted(path.name for path in library.parent.iterdir()), ["attune_torch.so", "lock"])
        for path in (library, library.parent, library.parent.parent):
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o700)
        library.chmod(0o722)
        self.run_script(
            """
            attune.torch.patch()
            assert attune.torch.status()["way"] == second_way
            assert "other users could have written" in attune.torch.status()["why"]
            F.linear(x, w)
            """,
            ATTUNE_CXX=compiler,
        )

    def test_without_a_compiler_another_way_is_taken_and_status_says_why(self):
        log = self.run_script(
            """
            attune.torch.patch(untuned=True)
            status, why = attune.torch.status(), "ATTUNE_CXX names no compiler: /nowhere/g++"
            assert status["way"] == second_way, status
            assert (status["why"] == why) if second_way == "library" else status["why"].startswith(why + "; PyTorch "), status
            assert (F.linear is attune.torch.linear) == (second_way == "python")
            F.linear(x, w)
            assert attune.torch.calls()["routed"] == 1
            attune.torch.unpatch()
            try:
                attune.torch.patch("dispatcher")
                assert False
            except attune.errors.UnavailableError as error:
                assert str(error) == why
            """,
            ATTUNE_CXX="/nowhere/g++",
        )
        self.assertEqual(log, [])

    def test_a_pytorch_without_a_stable_interface_is_named(self):
        self.run_script(
            """
            if hasattr(torch.library, "get_kernel"): del torch.library.get_kernel
            try:
                attune.torch.patch("library")
                assert False
            except attune.errors.UnavailableError as error:
                assert str(error) == f"PyTorch {torch.__version__} has no stable interface for kernels, 2.9 is the first that has"
            assert attune.torch.status()["way"] == ""
            attune.torch.patch("python")
            F.linear(x, w)
            """
        )

    def test_a_compiler_that_fails_is_asked_once(self):
        compiler = self.compiler("echo 'library.h:7: error: no such thing'; exit 1")
        for _ in range(2):
            self.run_script(
                """
                attune.torch.patch()
                assert "do not compile: library.h:7: error: no such thing" in attune.torch.status()["why"]
                F.linear(x, w)
                """,
                ATTUNE_CXX=compiler,
            )
        self.assertEqual(self.num_compilations(), 1)

    def test_headers_of_another_version(self):
        installed = self.folder / "torch"
        header = installed / "include/torch/csrc/api/include/torch/version.h"
        header.parent.mkdir(parents=True)
        header.write_text("".join(f"#define TORCH_VERSION_{part} 9\n" for part in ("MAJOR", "MINOR", "PATCH")))
        with self.assertRaisesRegex(_torch_build.NotBuilt, "are of version 9.9.9, not 1.13.0"):
            _torch_build._Headers._find(installed, "1.13.0a0")
        self.assertEqual(_torch_build._Headers._find(installed, "9.9.9+cpu"), installed / "include")
        numbers = installed / "include" / "torch" / "headeronly" / "version.h"
        numbers.parent.mkdir(parents=True)
        parts = {"MAJOR": 10, "MINOR": 1, "PATCH": 2}
        numbers.write_text("".join(f"#define TORCH_VERSION_{part} {number}\n" for part, number in parts.items()))
        self.assertEqual(_torch_build._Headers._find(installed, "10.1.2+cu130"), installed / "include")


class APatchedProcess(Processes):
    def run_script(self, text, **variables):
        return super().run_script(text, ATTUNE_CACHE=CACHE, **variables)

    def test_patching_writes_nothing(self):
        self.assertEqual(self.run_script("attune.torch.patch('dispatcher', untuned=True); F.linear(x, w)"), [])

    def test_a_line_at_the_end_says_that_nothing_was_routed(self):
        text = "attune.torch.patch('dispatcher'); torch.bmm(x[None], w.t()[None]); F.linear(x.double(), w.double())"
        log = self.run_script(text)
        self.assertIn("attune.torch was patched in and computed none of 2 products: dtype 1, no_family 1", log[0])
        self.assertEqual(self.run_script("import warnings; warnings.simplefilter('ignore');" + text), [])
        self.assertIn("none arrived", self.run_script("attune.torch.patch('dispatcher'); attune.torch.unpatch()")[0])

    def test_children_of_a_patched_process_compute(self):
        self.run_script(
            """
            import multiprocessing
            attune.torch.patch("dispatcher", untuned=True)
            torch.set_num_threads(1)
            assert (F.linear(x, w) == 64).all()

            def product(rows):
                before = attune.torch.calls()["routed"]
                right = bool((F.linear(torch.ones(rows, 64), w) == 64).all())
                return right and attune.torch.calls()["routed"] == before + 1

            with multiprocessing.get_context("fork").Pool(2) as pool:
                assert pool.map_async(product, range(1, 9)).get(60) == [True] * 8
            child = os.fork()
            if child == 0:
                attune.torch.unpatch()
                attune.torch.patch("dispatcher", untuned=True)
                os._exit(0 if product(3) else 1)
            assert os.waitpid(child, 0)[1] == 0
            assert product(5)
            """
        )

    def test_a_child_that_patches_itself(self):
        self.run_script(
            """
            child = os.fork()
            if child == 0:
                attune.torch.patch("dispatcher", untuned=True)
                os._exit(0 if (F.linear(x, w) == 64).all() and attune.torch.calls()["routed"] == 1 else 1)
            assert os.waitpid(child, 0)[1] == 0
            attune.torch.patch("dispatcher")
            assert (F.linear(x, w) == 64).all()
            """
        )

    def test_rows_of_a_table_serve(self):
        self.run_script(
            """
            attune.torch.patch("dispatcher")
            with attune.capture("captures"):
                F.linear(x, w)
            assert attune.torch.calls()["no_row"] == 1
            attune.tune("captures/bf16_untuned_gemm.csv", "tuned.csv", max_trials=1, quiet_wait=0,
                        libtype="portable,onednn")
            os.environ["ATTUNE_CONFIG_GEMM_BF16"] = "tuned.csv"
            attune.reload()
            assert (F.linear(x, w) == 64).all()
            calls = attune.torch.calls()
            assert (calls["routed"], calls["untuned"], calls["passed_on"]) == (1, 0, 1), calls
            """
        )

    def test_strided_rows_are_served_batch_invariant_too(self):
        self.run_script(
            """
            attune.torch.patch("dispatcher")
            assert (F.linear(torch.ones(64, 4).t(), w) == 64).all()
            assert (F.linear(torch.ones(80, 128)[:, ::2], w) == 64).all()
            assert attune.torch.calls()["routed"] == 2, attune.torch.calls()
            """,
            ATTUNE_REQUIRE="batch-invariant",
        )

    def test_what_attune_may_not_pass_on_is_an_error(self):
        self.run_script(
            """
            import ctypes
            from attune import _torch_build

            class Prepared(ctypes.Structure):
                _fields_ = [(name, ctypes.c_int64) for name in "mnk"]

            @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Prepared))
            def examine(call, prepared):
                prepared[0].n = 32
                return 0

            @ctypes.CFUNCTYPE(
                ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p)
            )
            def run(prepared, addresses, error):
                error[0] = b"no kernel states what is required"
                return 8

            addresses = [ctypes.cast(one, ctypes.c_void_p).value for one in (examine, run)]
            functions = (ctypes.c_void_p * 4)(*addresses, None, None)
            library = _torch_build.load(_torch_build.build(torch)[0])
            library.attune_torch_register(functions)
            for call in (lambda: F.linear(x, w), lambda: torch.mm(x, w.t())):
                try:
                    call()
                    assert False
                except RuntimeError as error:
                    assert str(error).startswith("attune: no kernel states what is required"), error
            library.attune_torch_unregister()
            F.linear(x, w)
            """
        )

    def test_one_thread_of_pytorch_is_one_thread(self):
        self.run_script(
            """
            import time
            torch.set_num_threads(1)
            attune.torch.patch("dispatcher", untuned=True)
            x, w = torch.ones(64, 512), torch.ones(512, 512)
            F.linear(x, w)
            time.sleep(0.1)
            began, used = time.perf_counter(), time.process_time()
            while time.perf_counter() < began + 0.5:
                F.linear(x, w)
            busy = (time.process_time() - used) / (time.perf_counter() - began)
            assert busy < 1.05, busy
            """
        )


class ATTUNE_TORCH(Processes):
    """Programs that do not name Attune before PyTorch is imported."""

    def run_program(self, text, value, **variables):
        before = "import sys\nassert 'torch' not in sys.modules and 'attune' not in sys.modules\n"
        program = before + textwrap.dedent(text)
        return super().run_script(program, start="", ATTUNE_CACHE=CACHE, ATTUNE_TORCH=value, **variables)

    def test_patches_when_pytorch_is_imported(self):
        for value, way in (("1", "dispatcher"), ("python", "python")):
            self.run_program(
                f"""
                import torch
                assert type(torch.__spec__.loader).__module__.startswith("_frozen_importlib"), torch.__spec__
                y = torch.nn.functional.linear(torch.ones(4, 64), torch.ones(32, 64))
                assert (y == 64).all()
                import attune.torch
                assert attune.torch.status()["way"] == "{way}"
                assert attune.torch.calls()["no_row"] == 1
                """,
                value,
                ATTUNE_ONLINE_TUNING="0",
            )

    def test_other_programs_are_as_they_were(self):
        self.assertEqual(self.run_program("import json; assert 'attune' not in sys.modules", "1"), [])
        for value in ("", "0"):
            self.run_program("import torch; assert 'attune' not in sys.modules", value)

    def test_a_wrong_value_is_a_warning(self):
        for value in ("maybe", "1,maybe", "1,untuned,", "untuned"):
            log = self.run_program(
                """
                import torch, attune.torch, os
                assert attune.torch.status()["way"] == ""
                assert "ATTUNE_ONLINE_TUNING" not in os.environ
                """,
                value,
                ATTUNE_ONLINE_TUNING=None,
            )
            expected = f"1 or a way (dispatcher, library, python), with ',untuned' or without: '{value}'"
            self.assertIn(f"PyTorch is not patched: ATTUNE_TORCH expects {expected}", log[0])

    def test_every_way_can_be_asked_for(self):
        for way in attune.torch.WAYS:
            log = self.run_program(
                """
                import torch, attune.torch, os
                print(attune.torch.status()["way"] or "none", file=sys.stderr)
                """,
                way,
                ATTUNE_ONLINE_TUNING="0",
            )
            if "none" in log:  # Such as a PyTorch that is too old for "library".
                self.assertRegex(log[0], "PyTorch is not patched: PyTorch .* has no stable interface|compile|compiler|headers")
            else:
                self.assertIn(way, log)

    def test_products_without_a_row_are_served_untuned_where_the_variable_says_so(self):
        self.run_program(
            """
            import torch
            assert (torch.nn.functional.linear(torch.ones(4, 64), torch.ones(32, 64)) == 64).all()
            import attune.torch
            assert attune.torch.status()["way"] == "python"
            assert attune.torch.calls()["untuned"] == 1, attune.torch.calls()
            """,
            "python,untuned",
            ATTUNE_ONLINE_TUNING="0",
        )

    def test_online_tuning_is_on_unless_the_user_has_said_otherwise(self):
        text = """
            import os, torch
            assert os.environ["ATTUNE_ONLINE_TUNING"] == "{0}", os.environ["ATTUNE_ONLINE_TUNING"]
            """
        for own, expected in (("", "1"), ("0", "0"), ("shared", "shared")):
            with self.subTest(own):
                self.run_program(text.format(expected), "python", ATTUNE_ONLINE_TUNING=own)
        with self.subTest("of the older name"):
            self.run_program(text.format(""), "python", ATTUNE_ONLINE_TUNING="", HIP_ONLINE_TUNING="1")

    def test_tunes_beside_the_program_and_serves(self):
        self.run_program(
            """
            import time, torch
            x, w = torch.ones(4, 64), torch.ones(32, 64)
            torch.nn.functional.linear(x, w)
            import attune.torch
            assert attune.torch.calls()["no_row"] == 1
            deadline = time.monotonic() + 90
            while True:
                assert (torch.nn.functional.linear(x, w) == 64).all()
                if attune.torch.calls()["routed"] == 1:
                    break
                assert time.monotonic() < deadline, attune.notices()
                time.sleep(0.2)
            """,
            "1",
        )


if __name__ == "__main__":
    unittest.main()
