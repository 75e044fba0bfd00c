# SPDX-License-Identifier: MIT
"""run(): one candidate of a problem, and the errors for candidates that it cannot run."""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np
from test_gemm import close, numbers, product, unaligned

import attune
from attune import errors
from attune._tune import program

PROBLEM = "gemm_a16w16 m=5 n=24 k=32 dtype=fp32"
CANDIDATE = "portable.gemm@1:block=4x4"


def operands():
    return numbers(5, 32), numbers(24, 32, seed=2), np.zeros((5, 24), np.float32)


class Runs(unittest.TestCase):
    def test_the_candidate_that_is_named(self):
        x, w, out = operands()
        before = attune.counts()
        for candidate in (CANDIDATE, "portable.gemm@1:block=1x4"):
            for tensors in ([x, w, out], (x, w, out)):
                out[...] = 0
                self.assertIsNone(attune.run(PROBLEM, candidate, tensors))
                close(out, product(x, w), 1e-5)
        after = attune.counts()
        self.assertEqual(after["calls"], before["calls"])

    def test_bias_and_another_type_of_result(self):
        x, w = numbers(5, 32, dtype=np.float16), numbers(24, 32, dtype=np.float16, seed=2)
        bias, out = numbers(24, dtype=np.float16), np.zeros((5, 24), np.float32)
        problem = "gemm_a16w16 m=5 n=24 k=32 dtype=fp16 outdtype=fp32 bias=1"
        attune.run(problem, CANDIDATE, [x, w, bias, out])
        close(out, product(x, w, bias), 1e-2)

    def test_a_kernel_that_is_not_compiled_is_compiled_first(self):
        listed = subprocess.run(
            [program(), "list", "candidates", PROBLEM, "--json"], capture_output=True, check=True
        ).stdout
        candidates = next((one["candidates"] for one in json.loads(listed) if one["solver"] == "jit_cpu.gemm"), [])
        if not candidates:
            self.skipTest("no kernels are generated here")
        x, w, out = operands()
        with tempfile.TemporaryDirectory() as cache:
            # Run in another process, because this one has already opened its own cache.
            code = (
                "import attune, numpy as np, sys; x, w, out = (np.ones(s, np.float32) for s in ((5, 32), (24, 32), (5, 24)));"
                "attune.run(*sys.argv[1:], [x, w, out]); sys.exit(0 if (out == 32).all() else 1)"
            )
            subprocess.run(
                [sys.executable, "-c", code, PROBLEM, candidates[-1]],
                env=dict(os.environ, ATTUNE_CACHE=cache),
                check=True,
            )
            self.assertTrue(any(Path(cache).rglob("*")), "a kernel was compiled")
            # A machine without a compiler is given the cache.
            without = dict(os.environ, ATTUNE_CACHE=cache, PATH="/nowhere")
            without.pop("ATTUNE_CC", None)
            subprocess.run([sys.executable, "-c", code, PROBLEM, candidates[-1]], env=without, check=True)
            other = [sys.executable, "-c", code, PROBLEM, candidates[0]]
            refused = subprocess.run(other, env=without, capture_output=True, text=True)
            self.assertIn("no C compiler", refused.stderr, "a kernel that is not in the cache")
        attune.run(PROBLEM, candidates[0], [x, w, out])
        close(out, product(x, w), 1e-5)

    def test_every_candidate_by_its_number_and_by_its_name(self):
        (portable,) = attune.candidates(PROBLEM, "portable")
        self.assertEqual((portable["solver"], portable["why_none"]), ("portable.gemm", ""))
        self.assertIn(CANDIDATE, portable["candidates"].values())
        for number, name in portable["candidates"].items():
            self.assertRegex(number, r"^portable#\d+$")
            self.assertLess(int(number.split("#")[1]), portable["num_numbers"])
            for candidate in (number, name):
                x, w, out = operands()
                attune.run(PROBLEM, candidate, [x, w, out])
                close(out, product(x, w), 1e-5)

    def test_lists_are_as_long_as_they_are_wanted(self):
        everything = {one["solver"]: one for one in attune.candidates(PROBLEM)}
        self.assertIn("portable.gemm", everything)
        for one in everything.values():
            self.assertEqual(bool(one["why_none"]), one["num_numbers"] == 0, one)
            self.assertNotEqual(bool(one["why_none"]), bool(one["candidates"]), one)
        whole = everything["portable.gemm"]["candidates"]
        paged = {}
        for first in range(everything["portable.gemm"]["num_numbers"]):
            (one,) = attune.candidates(PROBLEM, "portable.gemm", first=first, limit=1)
            self.assertLessEqual(len(one["candidates"]), 1)
            paged.update(one["candidates"])
        self.assertEqual(paged, whole)

    def test_numbers_and_lists_that_mean_nothing_are_refused(self):
        x, w, out = operands()
        (portable,) = attune.candidates(PROBLEM, "portable", limit=0)
        beyond = f"portable#{portable['num_numbers']}"
        with self.assertRaisesRegex(ValueError, f"the numbers of portable.gemm for this problem are below .*{beyond}"):
            attune.run(PROBLEM, beyond, [x, w, out])
        with self.assertRaisesRegex(ValueError, "solver#number"):
            attune.run(PROBLEM, "portable#one", [x, w, out])
        for call in (lambda: attune.run(PROBLEM, "gone#0", [x, w, out]), lambda: attune.candidates(PROBLEM, "gone")):
            with self.assertRaisesRegex(errors.UnavailableError, "gone"):
                call()
        with self.assertRaises(ValueError):
            attune.candidates("gemm_a16w16 m=2")
        self.assertFalse(out.any())

    def test_in_several_threads(self):
        def call():
            x, w, out = operands()
            for _ in range(20):
                attune.run(PROBLEM, CANDIDATE, [x, w, out])
            results.append(np.abs(out - product(x, w)).max() < 1e-4)

        results = []
        threads = [threading.Thread(target=call) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [True] * 3)


class RunsWhatTheTablesName(unittest.TestCase):
    def test_without_a_candidate_by_order_and_by_role(self):
        for tensors in (lambda x, w, out: [x, w, out], lambda x, w, out: {"c": out, "b": w, "a": x}):
            x, w, out = operands()
            self.assertIsNone(attune.run(PROBLEM, None, tensors(x, w, out)))
            np.testing.assert_allclose(out, x @ w.T, rtol=1e-5, atol=1e-5)


class Refuses(unittest.TestCase):
    def refused(self, kind, says, tensors=None, problem=PROBLEM, candidate=CANDIDATE):
        x, w, out = operands()
        with self.subTest(says), self.assertRaisesRegex(kind, re.escape(says)):
            attune.run(problem, candidate, [x, w, out] if tensors is None else tensors)
        self.assertTrue((out == 0).all())

    def test_wrong_shapes(self):
        x, w, out = operands()
        self.refused(ValueError, "tensors[0] (a) must have the shape (5, 32)", [numbers(4, 32), w, out])
        self.refused(ValueError, "tensors[0] (a) must have the shape (5, 32)", [numbers(1, 5, 32), w, out])
        self.refused(ValueError, "tensors[0] (a) must have the shape (5, 32)", [numbers(160), w, out])
        self.refused(ValueError, "tensors[1] (b) must have the shape (24, 32)", [x, numbers(32, 24), out])
        self.refused(ValueError, "tensors[2] (c) must have the shape (5, 24)", [x, w, np.zeros((24, 5), np.float32)])
        self.refused(ValueError, "tensors[2] (c) must have the shape", [x, w, np.zeros((0, 24), np.float32)])
        with_bias = PROBLEM + " bias=1"
        self.refused(ValueError, "must have the shape (24,)", [x, w, numbers(5), out], with_bias)
        self.refused(ValueError, "4 operands (a, b, bias, c), got 3", [x, w, out], with_bias)
        self.refused(ValueError, "3 operands (a, b, c), got 0", [])
        self.assertTrue((out == 0).all())

    def test_wrong_types(self):
        x, w, out = operands()
        self.refused(TypeError, "tensors[0] (a) must be fp32, as the problem states", [x.astype(np.float16), w, out])
        self.refused(TypeError, "tensors[2] (c) must be fp32", [x, w, np.zeros((5, 24), np.float16)])
        self.refused(TypeError, "tensors[1] (b) must be", [x, w.astype(np.float64), out])
        self.refused(TypeError, "tensors[1] (b) must be an array", [x, None, out])
        self.refused(TypeError, "arrays in the order of the problem's operands, or a dict", 3)
        self.refused(TypeError, "", None, 3)
        self.refused(TypeError, "candidate must be a name or None", None, PROBLEM, 7)

    def test_wrong_roles(self):
        x, w, out = operands()
        self.refused(ValueError, "must have the operand 'b'", {"a": x, "c": out})
        self.refused(ValueError, "operands a, b, c and no others", {"a": x, "b": w, "c": out, "bias": out})
        self.refused(ValueError, "tensors[1] (b) must have the shape", {"a": x, "b": x, "c": out}, candidate=None)

    def test_places_that_no_kernel_takes(self):
        x, w, out = operands()
        self.refused(ValueError, "multiple of 16", [unaligned(x), w, out])
        self.refused(ValueError, "C-contiguous", [np.asfortranarray(x), w, out])
        read_only = np.zeros((5, 24), np.float32)
        read_only.flags.writeable = False
        self.refused(ValueError, "cannot be written to", [x, w, read_only])
        square = numbers(16, 16)
        problem = "gemm_a16w16 m=16 n=16 k=16 dtype=fp32"
        self.refused(ValueError, "must not overlap", [square, numbers(16, 16), square], problem)

    def test_wrong_problems_and_candidates(self):
        self.refused(errors.InvalidInputError, "gemm_x", None, "gemm_x m=1")
        self.refused(errors.InvalidInputError, "'k'", None, "gemm_a16w16 m=1 n=2")
        self.refused(errors.InvalidInputError, "solver@version:config", candidate="portable")
        self.refused(errors.InvalidInputError, "17x4", candidate="portable.gemm@1:block=17x4")
        self.refused(errors.UnavailableError, "gone.gemm", candidate="gone.gemm@1:a=1")
        self.refused(errors.UnavailableError, "this machine has 1", candidate="portable.gemm@7:block=4x4")

    def test_a_problem_that_the_solver_does_not_take(self):
        tensors = [numbers(32, 5), numbers(24, 32), np.zeros((5, 24), np.float32)]
        self.refused(errors.UnavailableError, "cannot run this problem", tensors, PROBLEM + " trans_a=1")

    def test_types_that_arrays_cannot_have(self):
        with self.assertRaises((TypeError, ValueError)):
            attune.run("gemm_a16w16 m=5 n=24 k=32 dtype=int8", CANDIDATE, list(operands()))


if __name__ == "__main__":
    unittest.main()
