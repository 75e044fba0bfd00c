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
            (TypeError, "fp16, bf16, int8 or a narrow float, got int32", lambda: attune.pack_operands(PACKED.format(1), [w.astype(np.int32)])),
            (errors.InvalidInputError, "", lambda: attune.run(problem.replace("n=40", "n=8"), None, [x, out[:, :8].copy()], packed)),
            (errors.UnavailableError, "", lambda: attune.pack_operands(PACKED.format(1), [w], max_bytes=1)),
        ):
            with self.subTest(says), self.assertRaises(kind) as raised:
                call()
            self.assertIn(says, str(raised.exception))

    def test_weights_and_scales_of_an_op_of_a_module(self):
        modules, application = os.environ.get("ATTUNE_TEST_MODULES"), os.environ.get("ATTUNE_TEST_APPLICATION")
        if not modules or not application:
            self.skipTest("the ops of modules are built for the tests of the repository")
        done = subprocess.run([sys.executable, "-B", application], env={**os.environ, "ATTUNE_MODULES": modules},
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
