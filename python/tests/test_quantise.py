# SPDX-License-Identifier: MIT
"""quantise_rows, _tensor, _blocks, _mxfp4 and dequantise. ml_dtypes says what each number becomes."""
import unittest

import ml_dtypes
import numpy as np

import attune

TYPES = {"int8": (np.int8, 127), "e4m3fn": (ml_dtypes.float8_e4m3fn, 448), "e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, 240)}
E2M1 = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32)


def numbers(rows, k, seed=1):
    """Of many sizes, with zeros, and halves of the types' steps for large scales."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, k)) * np.exp2(random.integers(-8, 8, (rows, k)))
    x[random.random((rows, k)) < 0.05] = 0
    return x.astype(np.float32)


def wanted(x, scale, dtype):
    """The elements by ml_dtypes; `scale` for each element."""
    type_, largest = TYPES[dtype]
    quotient = np.clip(x / scale, -largest, largest)
    return np.rint(quotient).astype(np.int8) if dtype == "int8" else quotient.astype(type_)


def unpacked(elements, k):
    return np.stack([elements & 15, elements >> 4], axis=-1).reshape(len(elements), -1)[:, :k]


def bits(array):
    return array.view(np.uint8)


class Numbers(unittest.TestCase):
    def test_a_million_numbers_of_each_type(self):
        x = numbers(1000, 1000)
        largest = np.abs(x).max(1)
        for dtype, (type_, limit) in TYPES.items():
            with self.subTest(dtype):
                elements, scale = attune.quantise_rows(x, dtype)
                self.assertEqual((elements.dtype, scale.dtype, scale.shape), (type_, np.float32, (1000,)))
                np.testing.assert_array_equal(scale, largest / np.float32(limit))
                np.testing.assert_array_equal(bits(elements), bits(wanted(x, scale[:, None], dtype)))

    def test_a_million_numbers_of_mxfp4(self):
        x = numbers(1000, 1000)
        padded = np.pad(np.abs(x), ((0, 0), (0, 24))).reshape(1000, 32, 32).max(2)
        for rounding in ("floor", "rceil"):
            with self.subTest(rounding):
                elements, scale = attune.quantise_mxfp4(x, rounding)
                exponent = np.frexp(padded)[1] - 3
                if rounding == "rceil":
                    exponent += padded > 6 * np.exp2(exponent.astype(np.float64))
                np.testing.assert_array_equal(scale, np.where(padded == 0, 127, exponent + 127))
                power = np.repeat(np.exp2(scale.astype(np.float64) - 127), 32, 1)[:, :1000]
                want = np.clip(x / power, -6, 6).astype(ml_dtypes.float4_e2m1fn)
                np.testing.assert_array_equal(unpacked(elements, 1000), bits(want))

    def test_every_code_is_read_and_written_again(self):
        for dtype, (type_, largest) in TYPES.items():
            codes = np.arange(256, dtype=np.uint8).view(type_).reshape(1, 256)
            values = codes.astype(np.float32)
            read = attune.dequantise(codes, np.ones(1, np.float32))
            np.testing.assert_array_equal(read, values)
            finite = values[np.isfinite(values) & (np.abs(values) <= largest)].reshape(1, -1)
            elements, scale = attune.quantise_tensor(finite, dtype)
            self.assertEqual(scale.tolist(), [1])
            np.testing.assert_array_equal(elements.astype(np.float32), finite)
        packed = np.arange(256, dtype=np.uint8).reshape(1, 256)
        want = E2M1[unpacked(packed, 512)]
        np.testing.assert_array_equal(attune.dequantise(packed, np.full((1, 16), 128, np.uint8), (1, 32)), 2 * want)

    def test_scales_of_all_powers(self):
        packed, scale = np.full((256, 16), 0x22, np.uint8), np.arange(256, dtype=np.uint8).reshape(256, 1)
        want = scale.view(ml_dtypes.float8_e8m0fnu).astype(np.float32)
        np.testing.assert_array_equal(attune.dequantise(packed, scale, (1, 32)), np.repeat(want, 32, 1))

    def test_blocks(self):
        x = numbers(200, 300)
        for block in ((1, 128), (128, 128)):
            elements, scale = attune.quantise_blocks(x, block)
            self.assertEqual(scale.shape, (-(-200 // block[0]), 3))
            each = np.repeat(np.repeat(scale, block[0], 0), block[1], 1)[:200, :300]
            np.testing.assert_array_equal(bits(elements), bits(wanted(x, each, "e4m3fn")))
            np.testing.assert_array_equal(attune.dequantise(elements, scale, block), elements.astype(np.float32) * each)

    def test_zeros_have_the_scale_1(self):
        zeros = np.zeros((2, 40), np.float32)
        self.assertEqual(attune.quantise_rows(zeros)[1].tolist(), [1, 1])
        self.assertEqual(attune.quantise_mxfp4(zeros)[1].tolist(), [[127, 127]] * 2)

    def test_they_are_the_operands_of_products(self):
        x, w = numbers(5, 200, 2), numbers(130, 200, 3)
        want = x.astype(np.float64) @ w.astype(np.float64).T
        size = np.linalg.norm(x, axis=1)[:, None] * np.linalg.norm(w, axis=1)
        products = {
            "a8w8": (attune.gemm_a8w8, attune.quantise_rows(x), attune.quantise_rows(w)),
            "blocks": (attune.gemm_a8w8_blockscale, attune.quantise_blocks(x), attune.quantise_blocks(w, (128, 128))),
            "mxfp4": (attune.gemm_a4w4_blockscale, attune.quantise_mxfp4(x), attune.quantise_mxfp4(w)),
        }
        for name, (product, (of_x, x_scale), (of_w, w_scale)) in products.items():
            y = product(of_x, of_w, x_scale, w_scale).astype(np.float64)
            self.assertLess((np.abs(y - want) / size).max(), 0.2, name)


class Errors(unittest.TestCase):
    def test_bad_input_is_a_sentence(self):
        x = numbers(2, 8)
        eight = x.astype(np.int8)
        for error, text, call in (
            (ValueError, "dtype must be one of int8", lambda: attune.quantise_rows(x, "bf16")),
            (ValueError, "x must be a matrix", lambda: attune.quantise_blocks(x[0])),
            (ValueError, "'floor' or 'rceil'", lambda: attune.quantise_mxfp4(x, "up")),
            (ValueError, "whole numbers from 1", lambda: attune.quantise_blocks(x, (0, 128))),
            (ValueError, "whole numbers from 1", lambda: attune.quantise_blocks(x, (1, 2, 3))),
            (ValueError, "x must be a matrix", lambda: attune.quantise_rows(None)),
            (ValueError, r"the shape \(2, 1\), got \(3,\)", lambda: attune.dequantise(eight, np.ones(3, np.float32))),
            (ValueError, "scale must be fp32, got int32", lambda: attune.dequantise(eight, np.ones(2, np.int32))),
            (ValueError, "scale must be fp32, got uint8", lambda: attune.dequantise(eight, np.ones(8, np.uint8))),
            (ValueError, "scale must be fp32, got >f4", lambda: attune.dequantise(eight, np.ones(2, ">f4"))),
            (ValueError, "as uint8, got float32", lambda: attune.dequantise(eight.view(np.uint8), np.ones((2, 1), np.float32))),
            (ValueError, "the shape", lambda: attune.dequantise(eight, np.zeros(0, np.float32), (2**62, 1))),
            (ValueError, "elements must be a matrix", lambda: attune.dequantise(None, np.ones(2, np.float32))),
            (ValueError, "k must fit", lambda: attune.dequantise(eight, np.ones(2, np.float32), k=9)),
        ):
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call()


if __name__ == "__main__":
    unittest.main()
