# SPDX-License-Identifier: MIT
"""gemm_a8w8 with NumPy arrays: its results, and its errors for invalid arguments."""
import unittest

import numpy as np

import attune


def operands(m, n, k, per_row=True, seed=1):
    random = np.random.default_rng(seed)
    x, w = random.integers(-128, 128, (m, k), np.int8), random.integers(-128, 128, (n, k), np.int8)
    scales = (random.uniform(0.5, 2, m), random.uniform(0.001, 0.01, n)) if per_row else ([1.5], [0.003])
    return x, w, *(np.asarray(one, np.float32) for one in scales)


def product(x, w, x_scale, w_scale, bias=0):
    exact = x.astype(np.int64) @ w.astype(np.int64).T
    return exact * x_scale.astype(np.float64).reshape(-1, 1) * w_scale.astype(np.float64) + np.asarray(bias, np.float64)


class Results(unittest.TestCase):
    def test_scales_are_of_rows_or_of_matrices(self):
        for per_row in (True, False):
            for shape in ((1, 16, 32), (5, 7, 33), (33, 40, 128)):
                with self.subTest(shape, per_row=per_row):
                    given = operands(*shape, per_row)
                    y = attune.gemm_a8w8(*given, out_dtype="fp16")
                    self.assertEqual((y.shape, y.dtype), (shape[:2], np.float16))
                    np.testing.assert_allclose(y, product(*given), rtol=1e-3, atol=0.05)

    def test_the_result_is_bf16_unless_another_type_is_asked_for(self):
        import ml_dtypes
        given = operands(3, 8, 16)
        self.assertEqual(attune.gemm_a8w8(*given).dtype, ml_dtypes.bfloat16)

    def test_a_bias_is_added_and_out_is_written_in_place(self):
        given = operands(4, 8, 24)
        bias, out = np.linspace(-9, 9, 8).astype(np.float16), np.zeros((4, 8), np.float16)
        self.assertIs(attune.gemm_a8w8(*given, bias, out), out)
        np.testing.assert_allclose(out, product(*given, bias), rtol=1e-3, atol=0.05)

    def test_leading_axes_are_rows(self):
        x, w, x_scale, w_scale = operands(6, 8, 16)
        y = attune.gemm_a8w8(x.reshape(2, 3, 16), w, x_scale.reshape(2, 3, 1), w_scale, out_dtype="fp16")
        self.assertEqual(y.shape, (2, 3, 8))
        np.testing.assert_allclose(y.reshape(6, 8), product(x, w, x_scale, w_scale), rtol=1e-3, atol=0.05)

    def test_no_rows_give_an_empty_result(self):
        x, w, _, w_scale = operands(1, 8, 16)
        self.assertEqual(attune.gemm_a8w8(x[:0], w, np.zeros(0, np.float32), w_scale, out_dtype="fp16").shape, (0, 8))


class Errors(unittest.TestCase):
    def refused(self, error, text, *arguments, **named):
        with self.assertRaisesRegex(error, text):
            attune.gemm_a8w8(*arguments, **named)

    def test_name_the_argument(self):
        x, w, x_scale, w_scale = operands(4, 8, 16)
        self.refused(TypeError, "x must be int8, e4m3fn or e4m3fnuz, got fp32", x.astype(np.float32), w, x_scale, w_scale)
        self.refused(TypeError, "x_scale must be fp32, got fp16", x, w, x_scale.astype(np.float16), w_scale)
        self.refused(ValueError, r"one element for each row of x and of w, 4 and 8", x, w, x_scale[:3], w_scale)
        self.refused(ValueError, r"one element each", x, w, x_scale[:1], w_scale)
        self.refused(ValueError, r"the last axes", x, w[:, :8].copy(), x_scale, w_scale)
        self.refused(ValueError, "'bf16' or 'fp16', got 'fp32'", x, w, x_scale, w_scale, out_dtype="fp32")
        self.refused(TypeError, "bias must be fp16", x, w, x_scale, w_scale, np.zeros(8, np.float32), out_dtype="fp16")
        self.refused(TypeError, "omit out_dtype", x, w, x_scale, w_scale, out=np.zeros((4, 8), np.float16), out_dtype="bf16")
        self.refused(ValueError, "out must have the shape", x, w, x_scale, w_scale, out=np.zeros((8, 4), np.float16))

    def test_a_missing_array_is_refused_without_a_result(self):
        x, w, x_scale, _ = operands(4, 8, 16)
        self.refused(TypeError, "", x, w, x_scale)


if __name__ == "__main__":
    unittest.main()
