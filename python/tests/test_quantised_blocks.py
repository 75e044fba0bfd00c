# SPDX-License-Identifier: MIT
"""gemm_a8w8 of fp8, gemm_a8w8_blockscale and gemm_a4w4_blockscale: results, kinds of arrays, errors for invalid arguments."""
import unittest

import ml_dtypes
import numpy as np

import attune

FP8 = {"e4m3fn": ml_dtypes.float8_e4m3fn, "e4m3fnuz": ml_dtypes.float8_e4m3fnuz}


def blocks(count, size):
    return -(-count // size)


def fp8_blocks(m, n, k, dtype=ml_dtypes.float8_e4m3fn, seed=1):
    random = np.random.default_rng(seed)
    x, w = (random.normal(size=shape).astype(np.float32).astype(dtype) for shape in ((m, k), (n, k)))
    scales = ((m, blocks(k, 128)), (blocks(n, 128), blocks(k, 128)))
    return x, w, *(random.uniform(0.02, 0.2, shape).astype(np.float32) for shape in scales)


def mxfp4(m, n, k, seed=1):
    """Rows of an odd k end with a zero."""
    random = np.random.default_rng(seed)
    x, w = (random.integers(0, 256, (rows, blocks(k, 2)), np.uint8) for rows in (m, n))
    if k % 2:
        x[:, -1] &= 15
        w[:, -1] &= 15
    return x, w, *(random.integers(122, 127, (rows, blocks(k, 32)), np.uint8) for rows in (m, n))


def unpacked(array, k):
    halves = np.stack([array & 15, array >> 4], axis=-1).reshape(array.shape[0], -1)[:, :k]
    return np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])[halves]


def product_of_blocks(x, w, x_scale, w_scale):
    n, k = w.shape
    wide_x = x.astype(np.float64) * np.repeat(x_scale.astype(np.float64), 128, 1)[:, :k]
    return wide_x @ (w.astype(np.float64) * np.repeat(np.repeat(w_scale.astype(np.float64), 128, 0), 128, 1)[:n, :k]).T


def product_of_mxfp4(x, w, x_scale, w_scale, k):
    def wide(array, scale):
        return unpacked(array, k) * np.repeat(2.0 ** (scale.astype(np.float64) - 127), 32, 1)[:, :k]
    return wide(x, x_scale) @ wide(w, w_scale).T


def close(y, want):
    np.testing.assert_allclose(y.astype(np.float64), want, rtol=2e-2, atol=2e-2 * max(1, np.abs(want).std()))


class Results(unittest.TestCase):
    def test_fp8_with_scales_of_rows(self):
        for name, dtype in FP8.items():
            with self.subTest(name):
                x, w, _, _ = fp8_blocks(5, 33, 70, dtype)
                scales = np.linspace(0.1, 1, 5, dtype=np.float32), np.linspace(0.1, 1, 33, dtype=np.float32)
                y = attune.gemm_a8w8(x, w, *scales, out_dtype="fp16")
                close(y, x.astype(np.float64) @ w.astype(np.float64).T * scales[0][:, None] * scales[1])

    def test_fp8_with_scales_of_blocks(self):
        for name, dtype in FP8.items():
            for shape in ((1, 1, 1), (3, 130, 129), (17, 256, 300)):
                with self.subTest(name, shape=shape):
                    given = fp8_blocks(*shape, dtype)
                    y = attune.gemm_a8w8_blockscale(*given)
                    self.assertEqual((y.shape, y.dtype), (shape[:2], ml_dtypes.bfloat16))
                    close(y, product_of_blocks(*given))

    def test_mxfp4(self):
        for shape in ((1, 16, 32), (3, 5, 33), (17, 130, 300)):
            with self.subTest(shape):
                given = mxfp4(*shape)
                y = attune.gemm_a4w4_blockscale(*given, out_dtype="fp16")
                self.assertEqual((y.shape, y.dtype), (shape[:2], np.float16))
                close(y, product_of_mxfp4(*given, shape[2]))

    def test_exponents_of_ml_dtypes_are_those_of_uint8(self):
        x, w, x_scale, w_scale = mxfp4(4, 8, 64)
        of_types = attune.gemm_a4w4_blockscale(x, w, *(one.view(ml_dtypes.float8_e8m0fnu) for one in (x_scale, w_scale)))
        np.testing.assert_array_equal(of_types, attune.gemm_a4w4_blockscale(x, w, x_scale, w_scale))

    def test_leading_axes_are_rows_and_out_is_written_in_place(self):
        x, w, x_scale, w_scale = fp8_blocks(6, 40, 200)
        out = np.zeros((2, 3, 40), np.float16)
        y = attune.gemm_a8w8_blockscale(x.reshape(2, 3, 200), w, x_scale.reshape(2, 3, 2), w_scale, out)
        self.assertIs(y, out)
        close(out.reshape(6, 40), product_of_blocks(x, w, x_scale, w_scale))

    def test_a_nan_reaches_the_elements_that_read_it(self):
        x, w, x_scale, w_scale = mxfp4(3, 8, 64)
        x_scale[1, 1] = 255
        nan = np.isnan(attune.gemm_a4w4_blockscale(x, w, x_scale, w_scale).astype(np.float32))
        self.assertEqual(nan.tolist(), [[row == 1] * 8 for row in range(3)])

    def test_no_rows_give_an_empty_result(self):
        x, w, x_scale, w_scale = mxfp4(2, 8, 64)
        self.assertEqual(attune.gemm_a4w4_blockscale(x[:0], w, x_scale[:0], w_scale, out_dtype="fp16").shape, (0, 8))

    def test_run_takes_the_same_arrays(self):
        given, y = mxfp4(3, 5, 33), np.zeros((3, 5), np.float16)
        attune.run("gemm_a4w4_blockscale m=3 n=5 k=33 outdtype=fp16", None, [*given, y])
        close(y, product_of_mxfp4(*given, 33))
        given, y = fp8_blocks(3, 5, 33), np.zeros((3, 5), np.float16)
        attune.run("gemm_a8w8_blockscale m=3 n=5 k=33 q_dtype_w=e4m3fn outdtype=fp16", None, [*given, y])
        close(y, product_of_blocks(*given))


class TensorsOfPyTorch(unittest.TestCase):
    def setUp(self):
        try:
            import torch
        except ImportError as error:
            raise unittest.SkipTest(f"PyTorch is not installed (python3-torch): {error}")
        self.torch = torch

    def tensors(self, *arrays):
        return [self.torch.from_numpy(array.copy()) for array in arrays]

    def test_bytes_are_mxfp4(self):
        given = mxfp4(4, 8, 64)
        y = attune.gemm_a4w4_blockscale(*self.tensors(*given), out_dtype="fp16")
        self.assertEqual(y.dtype, self.torch.float16)
        close(y.numpy(), product_of_mxfp4(*given, 64))

    def test_types_that_dlpack_does_not_carry(self):
        torch = self.torch
        if not hasattr(torch, "float8_e4m3fn"):
            self.skipTest("this PyTorch has no fp8")
        x, w, x_scale, w_scale = fp8_blocks(4, 8, 130)
        tensors = self.tensors(x.view(np.uint8), w.view(np.uint8), x_scale, w_scale)
        tensors[:2] = [tensor.view(torch.float8_e4m3fn) for tensor in tensors[:2]]
        y = attune.gemm_a8w8_blockscale(*tensors)
        self.assertEqual(y.dtype, torch.bfloat16)
        close(y.float().numpy(), product_of_blocks(x, w, x_scale, w_scale))


class Errors(unittest.TestCase):
    def refused(self, error, text, function, *arguments, **named):
        with self.assertRaisesRegex(error, text):
            function(*arguments, **named)

    def test_name_the_argument_of_fp8(self):
        x, w, x_scale, w_scale = fp8_blocks(4, 130, 200)
        call = attune.gemm_a8w8_blockscale
        self.refused(TypeError, "x must be e4m3fn or e4m3fnuz, got fp32", call, x.astype(np.float32), w, x_scale, w_scale)
        self.refused(TypeError, "x must be .* got uint8", call, x.view(np.uint8), w, x_scale, w_scale)
        self.refused(TypeError, "w must be e4m3fn, got e4m3fnuz", call, x, w.astype(FP8["e4m3fnuz"]), x_scale, w_scale)
        self.refused(TypeError, "w_scale must be fp32, got fp16", call, x, w, x_scale, w_scale.astype(np.float16))
        self.refused(ValueError, r"a scale for each block, the shapes \(4, 2\) and \(2, 2\)", call, x, w, x_scale[:3], w_scale)
        self.refused(ValueError, "a scale for each block", call, x, w, x_scale.reshape(2, 4), w_scale)
        self.refused(ValueError, "the last axes", call, x[:, :100].copy(), w, x_scale, w_scale)
        self.refused(ValueError, "'bf16' or 'fp16', got 'fp32'", call, x, w, x_scale, w_scale, out_dtype="fp32")
        self.refused(TypeError, "", call, x, w, x_scale)

    def test_name_the_argument_of_mxfp4(self):
        x, w, x_scale, w_scale = mxfp4(4, 8, 64)
        call = attune.gemm_a4w4_blockscale
        self.refused(TypeError, "x must be e2m1, got int8", call, x.view(np.int8), w, x_scale, w_scale)
        self.refused(TypeError, "x_scale must be e8m0, got fp32", call, x, w, x_scale.astype(np.float32), w_scale)
        self.refused(ValueError, r"the shapes \(4, 2\) and \(8, 2\)", call, x, w, x_scale, w_scale[:, :1].copy())
        # One element a byte: not the order in memory that the kernels read.
        whole = unpacked(x, 64).astype(ml_dtypes.float4_e2m1fn)
        self.refused(TypeError, "x must be .* got float4_e2m1fn", call, whole, w, x_scale, w_scale)


if __name__ == "__main__":
    unittest.main()
