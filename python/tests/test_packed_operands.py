# SPDX-License-Identifier: MIT
"""pack_operands(): sets of operands of any op, by order and by role, and the calls that they do not serve."""

import os
import subprocess
import sys
import unittest

import numpy as np
from test_gemm import close, numbers, product

import attune
from attune import errors

PACKED = "gemm_a16w16 m={} n=40 k=48 dtype=fp32 bpreshuffle=1"

# An op of a module, whose packed set is weights and their scales.
SCALED = """
import attune, numpy as np
problem = "toy_scaled m=2 n=3 k=32 packed=1"
a, b = np.ones((2, 32), np.int8), np.repeat(np.arange(1, 4, dtype=np.int8)[:, None], 32, 1)
a_scale, b_scale = np.array([1, 2], np.float32), np.array([1, 2, 4], np.float32)
packed = attune.pack_operands(problem, {"b_scale": b_scale, "b": b})
assert packed.layouts == ["toy_scaled.reversed@1"], packed.layouts
import ml_dtypes
c = np.zeros((2, 3), ml_dtypes.bfloat16)
b[...] = 0
attune.run(problem, None, {"a": a, "a_scale": a_scale, "c": c}, packed)
assert c.astype(np.float32).tolist() == [[32, 128, 384], [64, 256, 768]], c
try:
    attune.pack_operands(problem, [b])
    raise SystemExit("one of two operands was taken")
except ValueError as error:
    assert "the problem packs 2 operands (b, b_scale), got 1" in str(error), error
"""


def pack(problem, tensors, **how):
    """Returns packed operands; skips the test if no library supports them."""
    try:
        return attune.pack_operands(problem, tensors, **how)
    except errors.UnavailableError as error:
        raise unittest.SkipTest(str(error)) from error


class PackedOperands(unittest.TestCase):
    def test_weights_by_order_and_by_role(self):
        w = numbers(40, 48, seed=2)
        for tensors in ([w], {"b": w}):
            packed = pack(PACKED.format(1), tensors, per_shape=True)
            self.assertEqual(len(packed.layouts), 1)
            self.assertGreaterEqual(packed.nbytes, w.nbytes)
            for rows in (1, 5, 300):
                x, out = numbers(rows, 48), np.zeros((rows, 40), np.float32)
                attune.run(PACKED.format(rows), None, {"c": out, "a": x}, packed)
                close(out, product(x, w), 1e-5)
                out[...] = 0
                attune.run(PACKED.format(rows), None, [x, out], packed)
                close(out, product(x, w), 1e-5)

    def test_calls_that_they_do_not_serve(self):
        w, x, out = numbers(40, 48), numbers(5, 48), np.zeros((5, 40), np.float32)
        packed, problem = pack(PACKED.format(1), [w]), PACKED.format(5)
        for kind, says, call in (
            (ValueError, "has 2 operands (a, c), got 3", lambda: attune.run(problem, None, [x, w, out], packed)),
            (ValueError, "give no candidate", lambda: attune.run(problem, "portable.gemm@1:block=4x4", [x, out], packed)),
            (TypeError, "pack_operands", lambda: attune.run(problem, None, [x, out], w)),
            (ValueError, "packs no operands", lambda: attune.pack_operands("gemm_a16w16 m=1 n=40 k=48", [w])),
            (ValueError, "the shape (40, 48)", lambda: attune.pack_operands(PACKED.format(1), [numbers(40, 40)])),
            (TypeError, "must be fp32", lambda: attune.pack_operands(PACKED.format(1), [w.astype(np.float16)])),
            (TypeError, "must be fp32", lambda: attune.pack_operands(PACKED.format(1), [np.zeros((40, 48), np.int8)])),
            (TypeError, "fp16, bf16 or int8, got int32", lambda: attune.pack_operands(PACKED.format(1), [w.astype(np.int32)])),
            (errors.InvalidInputError, "", lambda: attune.run(problem.replace("n=40", "n=8"), None, [x, out[:, :8].copy()], packed)),
            (errors.UnavailableError, "", lambda: attune.pack_operands(PACKED.format(1), [w], max_bytes=1)),
        ):
            with self.subTest(says), self.assertRaises(kind) as raised:
                call()
            self.assertIn(says, str(raised.exception))

    def test_weights_and_scales_of_an_op_of_a_module(self):
        modules = os.environ.get("ATTUNE_TOYS")
        if not modules:
            self.skipTest("the toy ops are built for the tests of the repository")
        done = subprocess.run([sys.executable, "-c", SCALED], env={**os.environ, "ATTUNE_MODULES": modules},
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
