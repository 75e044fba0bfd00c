# SPDX-License-Identifier: MIT
"""gemm_a16w16 with NumPy arrays: its results, and its errors for invalid arguments."""

import re
import threading
import unittest

import numpy as np

import attune


def numbers(*shape, dtype=np.float32, seed=1):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(dtype)


def close(got, wanted, tolerance):
    np.testing.assert_allclose(np.asarray(got, dtype=np.float64), wanted, rtol=tolerance, atol=tolerance)


def product(x, w, bias=None):
    y = np.asarray(x, dtype=np.float64) @ np.asarray(w, dtype=np.float64).T
    return y if bias is None else y + np.asarray(bias, dtype=np.float64)


def unaligned(array, by=4, multiple=16):
    """Returns a copy that begins `by` bytes after a multiple of `multiple`."""
    memory = np.zeros(array.nbytes + 2 * multiple, np.uint8)
    start = (-memory.ctypes.data) % multiple + by
    part = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    part[...] = array
    return part


class Results(unittest.TestCase):
    def test_leading_axes_are_rows(self):
        w = numbers(24, 32, seed=2)
        for leading in ((), (1,), (5,), (3, 4), (2, 1, 3)):
            with self.subTest(leading):
                x = numbers(*leading, 32)
                y = attune.gemm_a16w16(x, w)
                self.assertEqual((y.shape, y.dtype), ((*leading, 24), np.float32))
                close(y, product(x, w), 1e-5)

    def test_types_and_bias(self):
        for dtype, tolerance in ((np.float32, 1e-5), (np.float16, 2e-2)):
            with self.subTest(dtype):
                x, w, bias = numbers(7, 48, dtype=dtype), numbers(16, 48, dtype=dtype), numbers(16, dtype=dtype)
                y = attune.gemm_a16w16(x, w, bias)
                self.assertEqual(y.dtype, dtype)
                close(y, product(x, w, bias), tolerance)
                close(
                    attune.gemm_a16w16(x, w, bias=bias) - attune.gemm_a16w16(x, w),
                    np.broadcast_to(bias, (7, 16)),
                    3 * tolerance,
                )

    def test_out_is_written_in_place_and_returned(self):
        x, w = numbers(2, 3, 16), numbers(8, 16)
        out = np.full((2, 3, 8), np.nan, np.float32)
        self.assertIs(attune.gemm_a16w16(x, w, out=out), out)
        close(out, product(x, w), 1e-5)

    def test_the_results_type_may_be_another(self):
        x, w = numbers(4, 32, dtype=np.float16), numbers(8, 32, dtype=np.float16)
        bias, out = numbers(8, dtype=np.float16), np.empty((4, 8), np.float32)
        attune.gemm_a16w16(x, w, bias, out)
        close(out, product(x, w, bias), 1e-3)

    def test_a_type_that_only_generated_kernels_write_is_compiled_for(self):
        x, w, out = numbers(4, 32), numbers(8, 32), np.empty((4, 8), np.float16)
        try:
            attune.gemm_a16w16(x, w, out=out)
        except attune.errors.UnavailableError as error:
            self.skipTest(f"no kernels are generated here: {error}")
        close(out, product(x, w), 1e-2)

    def test_read_only_inputs_are_taken(self):
        x, w = numbers(4, 16), numbers(8, 16)
        x.flags.writeable = w.flags.writeable = False
        close(attune.gemm_a16w16(x, w), product(x, w), 1e-5)

    def test_no_rows_is_no_work(self):
        self.assertEqual(attune.gemm_a16w16(np.empty((0, 16), np.float32), numbers(8, 16)).shape, (0, 8))
        self.assertEqual(attune.gemm_a16w16(np.empty((3, 0, 16), np.float32), numbers(8, 16)).shape, (3, 0, 8))

    def test_axes_of_length_one_have_any_stride(self):
        x = np.lib.stride_tricks.as_strided(numbers(16), (1, 16), (4096, 4))
        close(attune.gemm_a16w16(x, numbers(8, 16)), product(x, numbers(8, 16)), 1e-5)

    def test_other_exporters_of_memory_are_taken(self):
        x, w = numbers(4, 16), numbers(8, 16)
        y = attune.gemm_a16w16(memoryview(x), memoryview(w))
        self.assertIsInstance(y, np.ndarray)
        close(y, product(x, w), 1e-5)

    def test_bfloat16_of_ml_dtypes(self):
        try:
            from ml_dtypes import bfloat16
        except ImportError:
            self.skipTest("ml_dtypes is not installed")
        x, w = numbers(4, 64).astype(bfloat16), numbers(8, 64).astype(bfloat16)
        y = attune.gemm_a16w16(x, w)
        self.assertEqual(y.dtype, bfloat16)
        close(y.astype(np.float32), product(x.astype(np.float32), w.astype(np.float32)), 4e-2)

    def test_sixteen_bytes_are_alignment_enough(self):
        for m, n, k in ((1, 64, 64), (4, 96, 64), (33, 100, 52), (128, 256, 128)):
            with self.subTest((m, n, k)):
                x, w, bias, out = (
                    unaligned(a, 16, 64) for a in (numbers(m, k), numbers(n, k), numbers(n), numbers(m, n))
                )
                close(attune.gemm_a16w16(x, w, bias, out), product(x, w, bias), 1e-4)

    def test_threads_call_side_by_side(self):
        w, wrong = numbers(32, 64, seed=9), []

        def work(seed):
            x = numbers(1 + seed, 64, seed=seed)
            for _ in range(200):
                if not np.allclose(attune.gemm_a16w16(x, w), product(x, w), atol=1e-4):
                    wrong.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Mistakes(unittest.TestCase):
    def refused(self, kind, says, *arguments, **named):
        with self.assertRaisesRegex(kind, re.escape(says)):
            attune.gemm_a16w16(*arguments, **named)

    def setUp(self):
        self.x, self.w, self.bias = numbers(4, 16), numbers(8, 16), numbers(8)

    def test_shapes(self):
        x, w = self.x, self.w
        self.refused(ValueError, "the shapes are (4, 16) and (8, 12)", x, numbers(8, 12))
        self.refused(ValueError, "w must have the shape (n, k), got (8,)", x, numbers(8))
        self.refused(ValueError, "w must have the shape (n, k), got (2, 8, 16)", x, numbers(2, 8, 16))
        self.refused(ValueError, "x must have the shape (..., k), got ()", np.array(1, np.float32), w)
        self.refused(ValueError, "at least one row", x, np.empty((0, 16), np.float32))
        self.refused(ValueError, "at least one row", np.empty((4, 0), np.float32), np.empty((8, 0), np.float32))
        self.refused(ValueError, "bias must have the shape (8,), got (4,)", x, w, numbers(4))
        self.refused(ValueError, "bias must have the shape (8,), got (1, 8)", x, w, numbers(1, 8))
        self.refused(
            ValueError, "out must have the shape of x with 8 as last axis, got (4, 7)", x, w, out=numbers(4, 7)
        )
        self.refused(ValueError, "got (32,)", x, w, out=numbers(32))
        self.refused(ValueError, "got (2, 2, 8)", x, w, out=numbers(2, 2, 8))
        self.refused(ValueError, "out must have the shape", x, w, out=np.array(1, np.float32))

    def test_strides(self):
        x, w = self.x, self.w
        self.refused(
            ValueError,
            "x must be C-contiguous, it has shape (4, 16) and strides (4, 16) in bytes; pass "
            "numpy.ascontiguousarray(x)",
            numbers(16, 4).T,
            w,
        )
        self.refused(ValueError, "w must be C-contiguous", x, numbers(8, 32)[:, ::2])
        self.refused(ValueError, "w must be C-contiguous", x, numbers(8, 16)[::-1])
        self.refused(ValueError, "strides (0, 4) in bytes", np.broadcast_to(numbers(16), (4, 16)), w)
        self.refused(ValueError, "bias must be C-contiguous", x, w, numbers(16)[::2])
        self.refused(ValueError, "out must be C-contiguous", x, w, out=numbers(8, 4).T)

    def test_alignment(self):
        x, w = self.x, self.w
        self.refused(ValueError, "x must start at a multiple of 16 bytes", unaligned(x), w)
        self.refused(ValueError, "w must start at a multiple of 16 bytes", x, unaligned(w))
        self.refused(ValueError, "bias must start at a multiple", x, w, unaligned(self.bias))
        self.refused(ValueError, "out must start at a multiple", x, w, out=unaligned(numbers(4, 8)))

    def test_types(self):
        x, w = self.x, self.w
        self.refused(TypeError, "x must be fp32, fp16 or bf16, got float64", x.astype(np.float64), w)
        self.refused(TypeError, "w must be fp32, fp16 or bf16, got int8", x, w.astype(np.int8))
        self.refused(TypeError, "got >f4", x.astype(">f4"), w)
        self.refused(TypeError, "got object", x.astype(object), w)
        self.refused(TypeError, "got datetime64", x.astype("datetime64[s]"), w)
        self.refused(TypeError, "of one type, got fp32 and fp16", x, w.astype(np.float16))
        self.refused(
            TypeError, "bias must be of the type of x and w, fp32, got fp16", x, w, self.bias.astype(np.float16)
        )
        self.refused(TypeError, "out must be fp32, fp16 or bf16", x, w, out=np.empty((4, 8)))
        self.refused(TypeError, "x must be an array of NumPy, or of a library with DLPack, got list", [[1.0]], w)
        self.refused(TypeError, "w must be an array of NumPy, or of a library with DLPack, got object", x, object())
        self.refused(TypeError, "arguments", x, None)
        self.refused(TypeError, "out must be an array", x, w, out=3)
        self.refused(TypeError, "x must be", b"1234567812345678", w)

    def test_what_out_may_not_be(self):
        x, w = self.x, self.w
        out = numbers(4, 8)
        out.flags.writeable = False
        self.refused(ValueError, "out cannot be written to", x, w, out=out)
        square = numbers(16, 16)
        self.refused(ValueError, "out must not overlap", square, numbers(16, 16, seed=3), out=square)
        self.refused(ValueError, "out must not overlap", square, square, out=square)
        whole = numbers(12, 16)
        self.refused(ValueError, "out must not overlap", whole[:8], w, out=whole.reshape(-1)[64:128].reshape(8, 8))

    def test_capsules_that_are_none(self):
        class Liar:
            def __dlpack__(self):
                return 3

        class Thrower:
            def __dlpack__(self):
                raise RuntimeError("not today")

        self.refused(TypeError, "x does not provide a DLPack tensor", Liar(), self.w)
        self.refused(ValueError, "x does not expose its memory: not today", Thrower(), self.w)

    def test_what_ends_a_program_is_not_taken_for_a_wrong_array(self):
        for ending in (KeyboardInterrupt, SystemExit, GeneratorExit):

            def end(*_, ending=ending, **__):
                raise ending

            in_dlpack = type("InDlpack", (), {"__dlpack__": end})
            in_device = type("InDevice", (), {"__dlpack__": end, "__dlpack_device__": end})
            in_property = type("InProperty", (), {"is_cuda": property(end), "__dlpack__": end})
            for one in (in_dlpack, in_device, in_property):
                with self.assertRaises(ending, msg=one.__name__):
                    attune.gemm_a16w16(one(), self.w)
                with self.assertRaises(ending, msg=one.__name__):
                    attune.gemm_a16w16(self.x, one())

    def test_a_property_that_fails_is_not_taken_for_one_that_is_missing(self):
        def fail(*_):
            raise RuntimeError("not today")

        for name in ("is_cuda", "__dlpack_device__", "__dlpack__"):
            one = type("Failing", (), {"__dlpack__": None, name: property(fail)})()
            with self.subTest(name), self.assertRaisesRegex((RuntimeError, ValueError), "not today"):
                attune.gemm_a16w16(one, self.w)
        stream = type("Stream", (), {"cuda_stream": property(fail)})()
        gpu_array = type("OnAGpu", (), {"__dlpack_device__": lambda _: (2, 0), "__dlpack__": None})()
        with self.assertRaisesRegex(RuntimeError, "not today"):
            attune.gemm_a16w16(gpu_array, self.w, stream=stream)

    def test_a_masked_array_is_refused_because_its_mask_would_be_ignored(self):
        for mask in (np.ma.nomask, self.x > 0):
            masked = np.ma.masked_array(self.x, mask=mask)
            for _ in range(2):
                attune.gemm_a16w16(self.x, self.w)
                self.refused(TypeError, "x is a numpy.ma.MaskedArray, whose mask would be ignored; pass x.filled(0)", masked, self.w)
        self.refused(TypeError, "w is a numpy.ma.MaskedArray", self.x, np.ma.masked_array(self.w))
        self.refused(TypeError, "out is a numpy.ma.MaskedArray", self.x, self.w, out=np.ma.masked_array(numbers(4, 8)))

    def test_counts_of_arguments(self):
        for arguments in ((), (self.x,), (self.x, self.w, None, None, None)):
            with self.assertRaises(TypeError):
                attune.gemm_a16w16(*arguments)
        with self.assertRaises(TypeError):
            attune.gemm_a16w16(self.x, self.w, scale=1)


if __name__ == "__main__":
    unittest.main()
