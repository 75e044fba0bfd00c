# SPDX-License-Identifier: MIT
"""An application that multiplies on a GPU through libattune's C interface ($ATTUNE_LIBRARY): operands in memory of the driver's,
a stream of its own. Prints a JSON object: the match of each call, and whether the results were right.

usage: gpu_application.py DEVICE M,N,K …    (bf16, matrices of ones: each element of the result is K, at most 256)"""
import ctypes
import json
import os
import sys

MATCHES = ("exact", "padded_fine", "padded_coarse", "predicted", "fallback")
ONE = 0x3F80  # in bf16


class Key(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_int64) for name in ("m", "n", "k", "batch")] + [
        (name, ctypes.c_uint32) for name in ("op", "in_dtype", "out_dtype", "flags")]


class Hit(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("match", ctypes.c_uint32), ("row", ctypes.c_uint32),
                ("ready", ctypes.c_uint8), ("is_stand_in", ctypes.c_uint8), ("drifted", ctypes.c_uint8),
                ("regret_percent", ctypes.c_uint8), ("reserved", ctypes.c_uint8 * 4)]


library, cuda = ctypes.CDLL(os.environ["ATTUNE_LIBRARY"]), ctypes.CDLL("libcuda.so.1")
library.attune_last_error.restype = ctypes.c_char_p


def call(name, *arguments):
    if getattr(library, name)(*arguments) != 0:
        sys.exit(f"{name}: {library.attune_last_error().decode()}")


def driver(name, *arguments):
    if result := getattr(cuda, name)(*arguments):
        sys.exit(f"{name}: {result}")


def area(elements, value):
    address = ctypes.c_uint64()
    driver("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(2 * elements))
    driver("cuMemsetD16_v2", address, ctypes.c_ushort(value), ctypes.c_size_t(elements))
    return address.value


def main():
    name = sys.argv[1]
    device, context, stream = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    driver("cuInit", 0)
    driver("cuDeviceGet", ctypes.byref(device), int(name.split(":")[1]))
    driver("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    driver("cuCtxSetCurrent", context)
    driver("cuStreamCreate", ctypes.byref(stream), 1)
    dispatcher = ctypes.c_void_p()
    call("attune_global_on", name.encode(), ctypes.byref(dispatcher))
    matches, right = [], True
    for sizes in sys.argv[2:]:
        m, n, k = map(int, sizes.split(","))
        key, hit = Key(size=ctypes.sizeof(Key)), Hit(size=ctypes.sizeof(Hit))
        call("attune_problem_key", f"gemm_a16w16 m={m} n={n} k={k} dtype=bf16".encode(), ctypes.byref(key))
        call("attune_require", dispatcher, ctypes.byref(key), ctypes.byref(hit))
        matches.append(MATCHES[hit.match])
        operands = (ctypes.c_void_p * 3)(area(m * k, ONE), area(n * k, ONE), area(m * n, 0xFFFF))
        call("attune_run", dispatcher, ctypes.byref(key), operands, ctypes.c_size_t(3), stream)
        driver("cuStreamSynchronize", stream)
        result = (ctypes.c_ushort * (m * n))()
        driver("cuMemcpyDtoH_v2", result, ctypes.c_uint64(operands[2]), ctypes.c_size_t(2 * m * n))
        wanted = ctypes.c_uint32.from_buffer(ctypes.c_float(k)).value >> 16
        right = right and set(result) == {wanted}
    print(json.dumps({"matches": matches, "right": right}))


main()
