# SPDX-License-Identifier: MIT
"""pack_weights(): the same results as plain weights, and the errors for calls that they do not serve."""

import re
import unittest

import numpy as np
from test_gemm import close, numbers, product

import attune
from attune import errors


def pack(w, **how):
    """Returns packed weights; skips the test if no library supports them."""
    try:
        return attune.pack_weights(w, **how)
    except errors.UnavailableError as error:
        raise unittest.SkipTest(str(error)) from error


class Packed(unittest.TestCase):
    def test_results_are_those_of_plain_weights(self):
        w, bias = numbers(40, 48, seed=2), numbers(40, seed=3)
        for how in ({}, {"per_shape": True}):
            packed, with_bias = pack(w, **how), pack(w, bias=True, **how)
            self.assertEqual((packed.shape, len(packed.layouts)), ((40, 48), 1))
            self.assertGreaterEqual(packed.nbytes, w.nbytes)
            for rows in ((), (1,), (5,), (3, 4), (300,)):
                x = numbers(*rows, 48)
                close(attune.gemm_a16w16(x, packed), product(x, w), 1e-5)
                out = np.zeros((*rows, 40), np.float32)
                self.assertIs(attune.gemm_a16w16(x, with_bias, bias, out), out)
                close(out, product(x, w, bias), 1e-5)
        self.assertEqual(attune.gemm_a16w16(np.empty((0, 48), np.float32), packed).shape, (0, 40))

    def test_a_new_result_has_the_type_that_they_were_packed_for(self):
        w = numbers(40, 48, dtype=np.float16, seed=2)
        packed, x = pack(w, out_dtype="fp32"), numbers(5, 48, dtype=np.float16)
        out = attune.gemm_a16w16(x, packed)
        self.assertEqual(out.dtype, np.float32)
        close(out, product(x, w), 1e-2)
        try:
            import torch
        except ImportError:
            return
        out = attune.gemm_a16w16(torch.from_numpy(x), packed)
        self.assertEqual(out.dtype, torch.float32)
        close(out.numpy(), product(x, w), 1e-2)

    def test_the_array_is_not_needed_afterwards(self):
        w = numbers(40, 48, seed=2)
        packed, before = pack(w), w.copy()
        w[...] = np.nan
        x = numbers(5, 48)
        close(attune.gemm_a16w16(x, packed), product(x, before), 1e-5)

    def test_calls_that_they_do_not_serve(self):
        packed, x = pack(numbers(40, 48)), numbers(5, 48)
        with_bias, square = pack(numbers(40, 48), bias=True), numbers(40, 40)
        for kind, says, call in (
            (ValueError, "that of w, 48", lambda: attune.gemm_a16w16(numbers(5, 40), packed)),
            (ValueError, "without a bias", lambda: attune.gemm_a16w16(x, packed, numbers(40))),
            (ValueError, "with a bias", lambda: attune.gemm_a16w16(x, with_bias)),
            (ValueError, "shape (40,)", lambda: attune.gemm_a16w16(x, with_bias, numbers(41))),
            (ValueError, "shape of x", lambda: attune.gemm_a16w16(x, packed, None, np.zeros((5, 41), np.float32))),
            (ValueError, "not overlap", lambda: attune.gemm_a16w16(square, pack(numbers(40, 40)), None, square)),
            (TypeError, "one type", lambda: attune.gemm_a16w16(x.astype(np.float16), packed)),
            (TypeError, "type fp32", lambda: attune.gemm_a16w16(x, packed, None, np.zeros((5, 40), np.float16))),
            (TypeError, "must be an array", lambda: attune.gemm_a16w16(packed, x)),
        ):
            with self.subTest(says), self.assertRaisesRegex(kind, re.escape(says)):
                call()

    def test_weights_that_cannot_be_packed(self):
        for kind, says, call in (
            (ValueError, "(n, k)", lambda: attune.pack_weights(numbers(40))),
            (ValueError, "at least one row", lambda: attune.pack_weights(np.zeros((0, 4), np.float32))),
            (ValueError, "out_dtype", lambda: attune.pack_weights(numbers(4, 4), out_dtype="fp12")),
            (TypeError, "out_dtype", lambda: attune.pack_weights(numbers(4, 4), out_dtype=3)),
            (TypeError, "", lambda: attune.pack_weights(numbers(4, 4), max_bytes=-1)),
            (errors.UnavailableError, "", lambda: attune.pack_weights(numbers(4, 4), max_bytes=1)),
            (errors.InvalidInputError, "int8", lambda: attune.pack_weights(numbers(4, 4), out_dtype="int8")),
        ):
            with self.subTest(says), self.assertRaisesRegex(kind, re.escape(says)):
                call()
        with self.assertRaises(TypeError):
            attune.PackedWeights()


if __name__ == "__main__":
    unittest.main()
