# SPDX-License-Identifier: MIT
"""Which device serves a call, and what is refused; without a GPU. Products on one: tests/gpu/pytorch_test.py."""

import ctypes
import os
import unittest

import numpy as np

import attune
from scripts import run_script

CPU, CUDA, ROCM = 1, 2, 10  # Device types of DLPack.


class Tensor(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_index", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class Array:
    """An array of another library, on a device of DLPack's number, with memory that no GPU has."""

    def __init__(self, *shape, device=(CUDA, 0)):
        self.device, self.streams = device, []
        self.memory = np.zeros(shape, np.float32)
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.tensor = Tensor(self.memory.ctypes.data, *device, len(shape), 2, 32, 1, self.shape)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


class Stream:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class ProtocolStream:
    def __cuda_stream__(self):
        return (0, 80)


def has_gpu():
    try:
        attune.counts("cuda:0")
    except attune.Error:
        return False
    return True


@unittest.skipIf(has_gpu(), "a GPU is here, which would read memory that is not its own")
class OnAGpu(unittest.TestCase):
    def refused(self, error, text, *arguments, call=attune.gemm_a16w16, **more):
        with self.assertRaises(error) as raised:
            call(*arguments, **more)
        self.assertIn(text, str(raised.exception))

    def test_without_a_gpu_a_sentence_says_so(self):
        x, w, out = Array(4, 64), Array(32, 64), Array(4, 32)
        self.refused(attune.Error, "cuda:0", x, w, out=out)
        self.refused(attune.Error, "cuda:0", "gemm_a16w16 m=4 n=32 k=64 dtype=fp32", None, [x, w, out], call=attune.run)
        self.refused(TypeError, "out is required", x, w)

    def test_all_arrays_are_on_one_device(self):
        host, gpu, other = np.zeros((32, 64), np.float32), Array(4, 64), Array(32, 64, device=(CUDA, 1))
        self.refused(TypeError, "on one device, x is on cuda:0 and w on the CPU", gpu, host)
        self.refused(TypeError, "on one device, x is on the CPU and w on cuda:1", host, other)
        self.refused(TypeError, "on one device, x is on cuda:0 and w on cuda:1", gpu, other)
        self.refused(TypeError, "x is on cuda:0 and out on the CPU", gpu, Array(32, 64), out=np.zeros((4, 32), np.float32))
        problem = "gemm_a16w16 m=4 n=32 k=64 dtype=fp32"
        out = np.zeros((4, 32), np.float32)
        self.refused(TypeError, "tensors[2] (c) on the CPU", problem, None, [gpu, Array(32, 64), out], call=attune.run)

    def test_devices_of_other_kinds_are_refused(self):
        other = Array(4, 64, device=(ROCM, 0))
        self.refused(ValueError, "x must be on the CPU or a CUDA device, its DLPack device is of type 10", other, other)

    def test_what_is_packed_is_on_the_host(self):
        self.refused(ValueError, "w must be on the CPU, it is on cuda:0", Array(32, 64), call=attune.pack_weights)
        packed = attune.pack_weights(np.ones((32, 64), np.float32))
        self.refused(ValueError, "x must be on the CPU, it is on cuda:3", Array(4, 64, device=(CUDA, 3)), packed)

    def test_an_array_is_made_ready_for_the_calls_stream(self):
        streams = {
            "none": (None, 1),  # DLPack's number of the legacy default stream.
            "its number": (1, 1),
            "null": (0, 1),
            "address": (4096, 4096),
            "as PyTorch's": (Stream(cuda_stream=48), 48),
            "as CuPy's": (Stream(ptr=64), 64),
            "by protocol": (ProtocolStream(), 80),
        }
        for name, (given, wanted) in streams.items():
            with self.subTest(name):
                x, w, out = Array(4, 64), Array(32, 64), Array(4, 32)
                self.refused(attune.Error, "cuda:0", x, w, out=out, stream=given)
                self.assertEqual([one.streams for one in (x, w, out)], [[wanted]] * 3)

    def test_a_stream_that_is_none(self):
        x, w, host = Array(4, 64), Array(32, 64), np.zeros((32, 64), np.float32)
        for given in ("first", Stream(), Stream(ptr="here"), 1.5):
            with self.subTest(given=given):
                self.refused(TypeError, "stream must be the address of a stream", x, w, stream=given)
        self.refused(ValueError, "stream must be None for arrays on the CPU", host, host, stream=4096)

    def test_an_array_of_a_library_with_devices_on_the_host(self):
        x, w = Array(4, 64, device=(CPU, 0)), Array(32, 64, device=(CPU, 0))
        x.memory[:], w.memory[:] = 1, 2
        out = np.zeros((4, 32), np.float32)
        attune.gemm_a16w16(x, w, out=out)
        self.assertTrue((out == 128).all())
        self.assertEqual(x.streams, [None])


class OnTheHost(unittest.TestCase):
    def test_its_arrays_are_served_there_whatever_the_environment_names(self):
        run_script(
            self,
            "import attune, numpy as np\n",
            """
            x, w = np.ones((4, 64), np.float32), np.ones((32, 64), np.float32)
            assert (attune.gemm_a16w16(x, w) == 64).all()
            packed = attune.pack_weights(w)
            assert (attune.gemm_a16w16(x, packed) == 64).all()
            out = np.zeros((4, 32), np.float32)
            attune.run("gemm_a16w16 m=4 n=32 k=64 dtype=fp32", None, [x, w, out])
            assert (out == 64).all()
            assert attune.counts("cpu:0")["calls"] == 3, attune.counts("cpu:0")
            assert attune.counts()["calls"] == attune.counts("fake:0")["calls"] == 0
            assert attune.set_num_threads(1) == attune.get_num_threads() == 1
            """,
            {**os.environ, "ATTUNE_DEVICE": "fake:0"},
        )

    def test_a_device_that_there_is_not(self):
        for function in (attune.counts, attune.tables, attune.notices):
            with self.subTest(function.__name__), self.assertRaises(attune.errors.InvalidInputError):
                function("gpu:0")


if __name__ == "__main__":
    unittest.main()
