# SPDX-License-Identifier: MIT
"""attune.torch without `untuned`: rows of the tables alone serve, PyTorch computes the rest, and every call is captured once."""

import csv
import json
import os
import shutil
import subprocess
import tempfile
import textwrap
import unittest
from pathlib import Path
from unittest import mock

import attune
from attune._tune import program
from test_torch_processes import CACHE, START, Processes
from torch_patches import Patched, numbers, torch

F = torch.nn.functional
KERNEL = "portable.gemm@1:block=4x4"
HEADER = "gfx,cu_num,M,N,K,dtype,outdtype,us,kernelName\n"
# Of the scripts: a table of products of fp32 on one thread, by the sizes of their rows.
ROWS = """
import json, subprocess, time
from pathlib import Path
from attune._tune import program

gfx = json.loads(subprocess.run([program(), "list", "devices", "--json"], capture_output=True, check=True).stdout)[0]["gfx"]
torch.set_num_threads(1)
attune.set_num_threads(1)

def serve(kernel, *sizes):
    rows = [f"{gfx},1,{m},{n},{k},torch.float32,torch.float32,1,{kernel}\\n" for m, n, k in sizes]
    Path("rows.csv").write_text("gfx,cu_num,M,N,K,dtype,outdtype,us,kernelName\\n" + "".join(rows))
    os.environ["ATTUNE_CONFIG_GEMM_BF16"] = "rows.csv"
    attune.reload()

def counted(call):
    before = attune.torch.calls()
    result = call()
    return result, {name: number - before[name] for name, number in attune.torch.calls().items() if number != before[name]}
"""


def processor():
    """What rows of this machine have as gfx."""
    listed = subprocess.run([program(), "list", "devices", "--json"], capture_output=True, check=True).stdout
    return next(one["gfx"] for one in json.loads(listed) if one["id"] == "cpu:0")


class RowsAlone(Patched):
    untuned = False

    def setUp(self):
        super().setUp()
        self.addCleanup(torch.set_num_threads, torch.get_num_threads())
        self.addCleanup(attune.set_num_threads, 0)
        torch.set_num_threads(1)
        folder = tempfile.TemporaryDirectory(prefix="attune_rows_")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def serve_rows(self, *sizes, threads=1):
        """From now on a table has these rows and no others."""
        table = self.folder / "rows.csv"
        types = "torch.float32,torch.float32"
        rows = [f"{processor()},{threads},{m},{n},{k},{types},1,{KERNEL}\n" for m, n, k in sizes]
        table.write_text(HEADER + "".join(rows))
        variable = mock.patch.dict(os.environ, ATTUNE_CONFIG_GEMM_BF16=str(table))
        variable.start()
        self.addCleanup(attune.reload)
        self.addCleanup(variable.stop)
        attune.reload()

    def calls(self):
        x, w, bias = numbers(5, 40), numbers(24, 40), numbers(24)
        return {
            "linear": lambda: F.linear(x, w),
            "linear with a bias": lambda: F.linear(x, w, bias),
            "one row": lambda: F.linear(x[0], w, bias),
        }

    def check_passed_on(self, call):
        """PyTorch has computed it, for want of a row."""
        result, counted = self.counted(call)
        self.assertEqual(counted, {"passed_on": 1, "no_row": 1})
        self.assertTrue(torch.equal(result, self.stock(call)))

    def test_without_a_table_pytorch_computes_and_the_shapes_are_captured(self):
        calls = self.calls()
        with attune.capture(self.folder):
            for name, call in calls.items():
                with self.subTest(name), torch.no_grad():
                    result, counted = self.counted(call)
                    self.assertEqual(counted, {"passed_on": 1, "no_row": 1})
        (counts,) = (self.folder / "counts").iterdir()
        with open(counts) as file:
            captured = list(csv.DictReader(file))
        self.assertEqual({one["threads"] for one in captured}, {"1"})
        self.assertEqual(sum(int(one["calls"]) for one in captured), len(calls))
        for call in calls.values():
            with torch.no_grad():
                self.check_passed_on(call)

    def test_without_a_row_every_bit_is_pytorchs(self):
        def rows(dtype):
            x = numbers(2, 6, 80, dtype=dtype)
            parts = (x[0, :, :40], x[..., :40], x[..., 40:].contiguous(), x[:, -1, :40], x[:, :, ::2], x[None, ..., :40])
            return (*parts, numbers(40, 6, dtype=dtype).t(), numbers(1, 1, 40, dtype=dtype), numbers(1, 40, dtype=dtype))

        for dtype in (torch.float32, torch.bfloat16):
            for part in rows(dtype):
                for bias in (None, numbers(24, dtype=dtype)):
                    for w in (numbers(24, 40, dtype=dtype), numbers(40, 24, dtype=dtype).t()):
                        with self.subTest(dtype=dtype, x=(part.shape, part.stride()), bias=bias is not None, w=w.stride()):
                            with torch.no_grad():
                                result, counted = self.counted(lambda: F.linear(part, w, bias))
                                wanted = self.stock(lambda: F.linear(part, w, bias))
                            self.assertEqual(counted, {"passed_on": 1, "no_row": 1})
                            self.assertTrue(torch.equal(result, wanted))
                            self.assertEqual(result.stride(), wanted.stride())

    def test_a_row_serves_its_shape_and_no_other(self):
        self.serve_rows((5, 24, 40))
        x, w = numbers(5, 40), numbers(24, 40)
        with torch.no_grad():
            for _ in range(2):
                self.check(lambda: F.linear(x, w), routed=1)
            self.check_passed_on(lambda: F.linear(x, w, numbers(24)))
            self.check_passed_on(lambda: F.linear(x, w[:8]))

    def test_rows_that_are_copied(self):
        x, w = numbers(5, 80)[:, ::2], numbers(24, 40)
        with torch.no_grad():
            self.check_passed_on(lambda: F.linear(x, w))
            self.serve_rows((5, 24, 40))
            self.check(lambda: F.linear(x, w), routed=1)

    def test_a_row_serves_its_number_of_threads_from_the_first_call(self):
        if attune.set_num_threads(0) < 2:
            self.skipTest("one core: there is one number of threads")
        self.serve_rows((5, 24, 40))
        x, w = numbers(5, 40), numbers(24, 40)
        with torch.no_grad():
            for _ in range(2):
                torch.set_num_threads(2)
                self.assertEqual(self.counted(lambda: F.linear(x, w))[1], {"passed_on": 1, "no_row": 1})
                torch.set_num_threads(1)
                self.assertEqual(self.counted(lambda: F.linear(x, w))[1], {"routed": 1})

    def test_threads_of_pytorch_are_its_own_where_a_plan_was_made(self):
        x, w = numbers(64, 256), numbers(128, 256)
        attune.set_num_threads(1)
        self.serve_rows((64, 128, 256))
        with torch.no_grad():
            for _ in range(2):
                self.assertEqual(self.counted(lambda: F.linear(x, w))[1], {"routed": 1})
                self.assertEqual(torch.get_num_threads(), 1)

    def test_whoever_asks_for_it_gets_untuned_products(self):
        x, w = numbers(5, 40), numbers(24, 40)

        def counted():
            with torch.no_grad():
                return self.counted(lambda: F.linear(x, w))[1]

        untuned, left = {"routed": 1, "untuned": 1}, {"passed_on": 1, "no_row": 1}
        attune.torch.patch(self.way, untuned=True)
        self.assertEqual(counted(), left, "a second call does nothing")
        attune.torch.unpatch()
        with attune.torch.patched(self.way, untuned=True):
            self.assertEqual(counted(), untuned)
            with attune.torch.patched(self.way):
                self.assertEqual(counted(), untuned, "one inside another changes nothing")
            self.serve_rows((5, 24, 40))
            self.assertEqual(counted(), {"routed": 1}, "a row has precedence")
            attune.torch.unpatch()
            attune.torch.patch(self.way)
            self.serve_rows()
            self.assertEqual(counted(), left, "the next patch is told anew")


class RowsAloneByTheLibrary(RowsAlone):
    way = "library"


class RowsAloneInPython(RowsAlone):
    way = "python"


class AtTheDispatcher(RowsAlone):
    """What the replaced function does not see."""

    def calls(self):
        x, w, bias, out = numbers(5, 40), numbers(40, 24), numbers(24), torch.empty(5, 24)
        layer = torch.nn.Linear(40, 16)
        return {
            "mm": lambda: torch.mm(x, w),
            "mm, out given": lambda: torch.mm(x, w, out=out),
            "mv": lambda: torch.mv(w.t(), x[0]),
            "addmm": lambda: torch.addmm(bias, x, w),
            "a layer": lambda: layer(x),
        }

    def test_a_layer_that_is_trained(self):
        layer, x = torch.nn.Linear(40, 24), numbers(5, 40)
        _, counted = self.counted(lambda: layer(x).sum().backward())
        self.assertEqual(set(counted), {"passed_on", "no_row"})
        self.serve_rows((5, 24, 40))
        _, counted = self.counted(lambda: layer(x))
        self.assertEqual(counted, {"passed_on": 1, "no_row": 1}, "the row has no bias")


class AtTheDispatcherByTheLibrary(AtTheDispatcher):
    way = "library"


class InProcessesOfTheirOwn(Processes):
    def run_script(self, text, **variables):
        variables.setdefault("ATTUNE_CACHE", CACHE)
        return self.end(self.start(text, start=START + ROWS, **variables))

    def ways(self):
        """Those that can be had here."""
        try:
            attune.torch.operators()
        except attune.errors.UnavailableError:
            return ["python"]
        return ["dispatcher", "python"]

    def cache_without_kernels_of_products(self):
        """A cache that has PyTorch's compiled kernels alone."""
        cache = self.folder / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        if "dispatcher" in self.ways():
            shutil.copytree(Path(attune.torch.operators()).parents[1], cache / "torch")
        return str(cache)

    def test_pytorch_computes_until_the_rows_kernel_is_compiled(self):
        if not attune.candidates("gemm_a16w16 m=4 n=32 k=64 dtype=fp32", "jit_cpu")[0]["candidates"]:
            self.skipTest("there are no generated kernels for cpu:0")
        slow = self.folder / "slow_cc"
        slow.write_text('#!/bin/sh\ncase "$*" in *--version*) ;; *) sleep 1;; esac\nexec gcc "$@"\n')
        slow.chmod(0o700)
        for way in self.ways():
            with self.subTest(way):
                self.run_script(
                    f"""
                    (generated,) = attune.candidates("gemm_a16w16 m=4 n=32 k=64 dtype=fp32", "jit_cpu")
                    x, w = torch.rand(4, 64), torch.rand(32, 64)
                    wanted = F.linear(x, w)
                    attune.torch.patch({way!r})
                    serve(list(generated["candidates"].values())[0], (4, 32, 64))
                    for _ in range(3):
                        got, counts = counted(lambda: F.linear(x, w))
                        assert counts == {{"passed_on": 1, "not_ready": 1}}, counts
                        assert torch.equal(got, wanted), "nothing stands in"
                    deadline = time.monotonic() + 60
                    while counts != {{"routed": 1}}:
                        assert time.monotonic() < deadline, (counts, attune.notices())
                        time.sleep(0.05)
                        got, counts = counted(lambda: F.linear(x, w))
                    torch.testing.assert_close(got, wanted)
                    """,
                    ATTUNE_CC=str(slow),
                    ATTUNE_CACHE=self.cache_without_kernels_of_products(),
                )

    def captured(self, text, **variables):
        """Calls by rows of x, as the process's dispatcher and a capture of the program's have them."""
        folder = self.folder / "captured"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(self.folder / "own", ignore_errors=True)
        self.run_script(text, ATTUNE_TUNE_GEMM="1", ATTUNE_CAPTURE_DIR=str(folder), **variables)
        found = []
        for captures in (folder, self.folder / "own"):
            (counts,) = (captures / "counts").iterdir()
            with open(counts) as file:
                found.append({int(one["M"]): int(one["calls"]) for one in csv.DictReader(file)})
        return found

    def test_every_call_is_captured_once(self):
        for way in self.ways():
            text = textwrap.dedent(
                f"""
                w = {{2: torch.ones(16, 64), 3: torch.ones(32, 64), 4: torch.ones(16, 64)}}
                serve({KERNEL!r}, (3, 32, 64))
                with attune.capture("own"):
                    attune.torch.patch({way!r})
                    for m in (2, 2, 3, 3, 3):
                        F.linear(torch.ones(m, 64), w[m])
                    attune.torch.unpatch()
                    attune.torch.patch({way!r}, untuned=True)
                    for m in (3, 4, 4, 4, 4):
                        F.linear(torch.ones(m, 64), w[m])
                calls = attune.torch.calls()
                served = calls["routed"], calls["untuned"], calls["passed_on"]
                """
            )
            with self.subTest(way):
                wanted = {2: 2, 3: 4, 4: 4}
                self.assertEqual(self.captured(text + "assert served == (8, 4, 2), served\n"), [wanted, wanted])
                text += "assert served == (10, 10, 0), 'Attune serves whatever patch() was told'\n"
                self.assertEqual(self.captured(text, ATTUNE_REQUIRE="deterministic"), [wanted, wanted])

    def test_the_line_at_the_end_says_what_to_do(self):
        text = "attune.torch.patch('python'); F.linear(x, w); F.linear(x[:2], w); F.linear(x[:1].double(), w.double())"
        (line,) = [line for line in self.run_script(text) if "computed none" in line]
        self.assertIn("computed none of 3 products: dtype 1, no_row 2; ", line)
        self.assertIn("capture and tune their shapes, or set ATTUNE_ONLINE_TUNING=1", line)
        text = f"serve({KERNEL!r}, (4, 32, 64)); {text}"
        self.assertEqual([line for line in self.run_script(text) if "computed none" in line], [])


if __name__ == "__main__":
    unittest.main()
