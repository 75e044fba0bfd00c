# SPDX-License-Identifier: MIT
"""PyTorch's own operator as a candidate of the tuner (docs/adr/0025), and rows that it has won."""

import os
import subprocess
import sys
import textwrap
import unittest
from pathlib import Path

import attune
from test_torch_processes import CACHE, Processes

try:
    import torch  # noqa: F401
except ImportError as error:
    raise unittest.SkipTest(f"PyTorch is not installed (python3-torch): {error}")
import attune.torch

try:
    OPERATORS = attune.torch.operators()
except attune.errors.UnavailableError as error:
    raise unittest.SkipTest(f"the kernels cannot be built (libtorch-dev): {error}")

START = """
import os, re, sys
from pathlib import Path
import torch
import attune, attune.torch
F = torch.nn.functional
torch.manual_seed(1)

def operands(m, n, k, dtype=torch.float32):
    return torch.rand(m, k).to(dtype), torch.rand(n, k).to(dtype), torch.rand(n).to(dtype)

def captured(*calls):
    with attune.capture("captures"):
        for x, w, bias in calls:
            F.linear(x, w, bias)

def tuned(libraries, **flags):
    found = attune.tune("captures/bf16_untuned_gemm.csv", "tuned.csv", max_trials=2, quiet_wait=0, libtype=libraries, **flags)
    os.environ["ATTUNE_CONFIG_GEMM_BF16"] = "tuned.csv"
    attune.reload()
    return [one["decision"]["winner"] for one in found]

def counted(call):
    before = attune.torch.calls()
    result = call()
    return result, {name: number - before[name] for name, number in attune.torch.calls().items() if number != before[name]}

def change_rows(pattern, text):
    table = Path("tuned.csv").read_text()
    assert re.search(pattern, table), table
    Path("changed.csv").write_text(re.sub(pattern, text, table))
    os.environ["ATTUNE_CONFIG_GEMM_BF16"] = "changed.csv"
    attune.reload()
"""


class ARowOfPyTorch(Processes):
    def run_script(self, text, **variables):
        return self.end(self.start(text, start=START, ATTUNE_CACHE=CACHE, **variables))

    def test_where_nothing_is_faster_pytorch_computes(self):
        self.run_script(
            """
            calls = [operands(64, 256, 256), operands(96, 128, 320), (*operands(80, 256, 256)[:2], None)]
            wanted = [F.linear(*call) for call in calls]
            attune.torch.patch("dispatcher")
            captured(*calls)
            winners = tuned("torch,portable")
            assert len(winners) == 3 and all(one.startswith("torch.gemm@1+") for one in winners), winners
            for call, result in zip(calls, wanted):
                got, counts = counted(lambda: F.linear(*call))
                assert counts == {"passed_on": 1, "stock_row": 1}, counts
                assert torch.equal(got, result)
            # A gradient, and rows with strides, which PyTorch takes as they are.
            x, w, bias = calls[0]
            got, counts = counted(lambda: F.linear(x.requires_grad_(), w, bias))
            assert counts == {"passed_on": 1, "stock_row": 1}, counts
            got.sum().backward()
            assert x.grad is not None
            got, counts = counted(lambda: torch.mm(calls[2][0], calls[2][1].t()))
            assert counts == {"passed_on": 1, "stock_row": 1} and torch.equal(got, wanted[2]), counts
            # Who asks for untuned products gets PyTorch's where a row names it.
            attune.torch.unpatch()
            attune.torch.patch("dispatcher", untuned=True)
            for call, result in zip(calls, wanted):
                got, counts = counted(lambda: F.linear(*call))
                assert counts == {"passed_on": 1, "stock_row": 1}, counts
                assert torch.equal(got, result)
            """
        )

    def test_a_row_of_another_solver_serves(self):
        self.run_script(
            """
            x, w, bias = operands(1, 64, 64)
            attune.torch.patch("dispatcher")
            captured((x, w, bias))
            assert tuned("onednn")[0].startswith("onednn.gemm@")
            assert counted(lambda: F.linear(x, w, bias))[1] == {"routed": 1}
            """
        )

    def test_a_row_of_another_build_of_pytorch_is_void(self):
        log = self.run_script(
            r"""
            x, w, bias = operands(64, 256, 256)
            attune.torch.patch("dispatcher")
            captured((x, w, bias))
            tuned("torch,portable")
            change_rows(r"(torch\.gemm@1\+[0-9.]+\.)[0-9a-f]{8}", r"\g<1>00000000")
            assert counted(lambda: F.linear(x, w, bias))[1] == {"passed_on": 1, "no_row": 1}
            """
        )
        (void,) = [line for line in log if "the row does not serve" in line]
        self.assertIn("made with torch.gemm 1+", void)
        self.assertIn("this machine has 1+", void)

    def test_without_the_patch_the_row_serves_where_the_operators_are_named(self):
        text = """
            x, w, bias = operands(64, 256, 256)
            threads = torch.get_num_threads()
            attune.set_num_threads(threads)
            if not Path("tuned.csv").exists():
                attune.torch.patch("dispatcher")
                captured((x, w, bias))
                tuned("torch,portable")
                attune.torch.unpatch()
            os.environ["ATTUNE_CONFIG_GEMM_BF16"] = "tuned.csv"
            attune.reload()
            wanted = F.linear(x, w, bias)
            got = attune.gemm_a16w16(x, w, bias)
            torch.testing.assert_close(got, wanted)
            assert torch.get_num_threads() == threads
            explained = attune.explain("gemm_a16w16 m=64 n=256 k=256 dtype=fp32 bias=1")
            """
        text = textwrap.dedent(text)
        served = "assert 'served by       exact' in explained and 'torch.gemm@' in explained, explained"
        self.run_script(text + served, ATTUNE_TORCH_OPERATORS=OPERATORS)
        log = self.run_script(text + "assert 'served by       the default config' in explained, explained")
        self.assertIn("torch.gemm needs PyTorch's operators, which ATTUNE_TORCH_OPERATORS names", "".join(log))

    def test_the_operator_computes_in_every_order_on_its_number_of_threads(self):
        self.run_script(
            """
            os.environ["ATTUNE_TORCH_OPERATORS"] = attune.torch.operators()
            attune.set_num_threads(1)
            flags = dict(m=48, n=96, k=64, dtype="fp32", threads=1, max_trials=1, quiet_wait=0, libtype="torch,portable")
            (candidate,) = [one["decision"]["winner"] for one in attune.tune(None, "one.csv", **flags)]
            assert candidate.startswith("torch.gemm@"), candidate
            torch.set_num_threads(3)
            for dtype, name, tolerance in ((torch.float32, "fp32", 1e-5), (torch.bfloat16, "bf16", 2e-2)):
                for order in range(8):
                    a_is_km, b_is_kn, has_bias = order & 1, order & 2, order & 4
                    x, w, bias = operands(5, 7, 9, dtype)
                    wanted = F.linear(x, w, bias if has_bias else None)
                    out = torch.empty(5, 7, dtype=dtype)
                    problem = f"gemm_a16w16 m=5 n=7 k=9 dtype={name}" + " trans_a=1" * bool(a_is_km)
                    problem += " trans_b=0" * bool(b_is_kn) + " bias=1" * bool(has_bias)
                    tensors = [x.t().contiguous() if a_is_km else x, w.t().contiguous() if b_is_kn else w]
                    attune.run(problem, candidate, [*tensors, *[bias] * bool(has_bias), out])
                    torch.testing.assert_close(out, wanted, rtol=tolerance, atol=tolerance, msg=problem)
                    assert torch.get_num_threads() == 3, problem
            """
        )

    def test_rows_that_are_left_to_pytorch_are_not_nothing(self):
        text = """
            x, w, bias = operands(64, 256, 256)
            os.environ["ATTUNE_CONFIG_GEMM_BF16"] = "tuned.csv"
            attune.torch.patch("dispatcher")
            if not Path("tuned.csv").exists():
                captured((x, w, bias))
                tuned("torch,portable")
            else:
                assert counted(lambda: F.linear(x, w, bias))[1] == {"passed_on": 1, "stock_row": 1}
            """
        self.run_script(text)
        self.assertEqual([line for line in self.run_script(text) if "computed none" in line], [])

    def test_a_wrong_library_is_a_row_that_does_not_serve(self):
        wrong = self.folder / "wrong.so"
        wrong.write_bytes(Path(OPERATORS).read_bytes()[:10_000])
        wrong.chmod(0o700)
        for library in (wrong, self.folder / "missing.so"):
            with self.subTest(library.name):
                self.run_script(
                    """
                    x, w, bias = operands(64, 256, 256)
                    problem = "gemm_a16w16 m=64 n=256 k=256 dtype=fp32 bias=1"
                    for solver in ("torch", "portable,torch"):
                        try:
                            results = attune.tune(None, "tuned.csv", m=64, n=256, k=256, dtype="fp32", max_trials=1, quiet_wait=0,
                                                  libtype=solver)
                            assert results[0]["decision"]["winner"].startswith("portable.gemm"), results
                        except attune.Error as error:
                            assert solver == "torch", error
                    """,
                    ATTUNE_TORCH_OPERATORS=str(library),
                )

    def test_the_module_prints_the_library(self):
        done = subprocess.run([sys.executable, "-m", "attune.torch"], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.strip(), OPERATORS)
        failed = subprocess.run(
            [sys.executable, "-m", "attune.torch"],
            env={**os.environ, "ATTUNE_CXX": "no_such_compiler"},
            capture_output=True,
            text=True,
        )
        self.assertEqual(failed.returncode, 1)
        self.assertIn("ATTUNE_CXX names no compiler", failed.stderr)


if __name__ == "__main__":
    unittest.main()
