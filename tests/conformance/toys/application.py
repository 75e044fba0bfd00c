# SPDX-License-Identifier: MIT
"""An application that calls the toy norm through the C interface: prints the match, a result and three refusals.

usage: application.py LIBRARY PROBLEM"""
import array
import ctypes
import sys


class Key(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("op", ctypes.c_uint32), ("num_values", ctypes.c_uint32),
                ("values", ctypes.c_int64 * 32)]


class Hit(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("match", ctypes.c_uint32), ("row", ctypes.c_uint32), ("rest", ctypes.c_uint8 * 8)]


class Operand(ctypes.Structure):
    _fields_ = [("role", ctypes.c_char_p), ("data", ctypes.c_void_p)]


def floats(count, value):
    """A buffer, and the address of `count` numbers in it that start at a multiple of 16 bytes."""
    buffer = array.array("f", [value]) * (count + 4)
    address = buffer.buffer_info()[0]
    return buffer, address + (-address) % 16


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.attune_status_name.restype = library.attune_match_name.restype = library.attune_last_error.restype = ctypes.c_char_p
    dispatcher, key, hit = ctypes.c_void_p(), Key(size=ctypes.sizeof(Key)), Hit(size=ctypes.sizeof(Hit))

    def succeed(status):
        assert status == 0, library.attune_last_error().decode()

    succeed(library.attune_global(ctypes.byref(dispatcher)))
    succeed(library.attune_parse_key(sys.argv[2].encode(), ctypes.byref(key)))
    assert key.op >= 0x8000 and list(key.values[:key.num_values]) == [8, 256], (key.op, key.num_values)
    succeed(library.attune_require_key(dispatcher, ctypes.byref(key), None, ctypes.byref(hit)))
    print(library.attune_match_name(hit.match).decode())
    (x, x_at), (w, w_at), (y, y_at) = floats(8 * 256, 3.0), floats(256, 1.0), floats(8 * 256, 0.0)

    def run(**operands):
        named = (Operand * len(operands))(*(Operand(role.encode(), data) for role, data in operands.items()))
        return library.attune_run_named(dispatcher, ctypes.byref(key), None, named, ctypes.c_size_t(len(operands)), None)

    succeed(run(y=y_at, x=x_at, w=w_at))
    print(round(ctypes.cast(y_at, ctypes.POINTER(ctypes.c_float))[8 * 256 - 1], 3))
    for wrong in ({"y": y_at, "x": x_at}, {"y": y_at, "x": x_at, "z": w_at}, {"y": x_at, "x": x_at, "w": w_at}):
        print(library.attune_status_name(run(**wrong)).decode())


if __name__ == "__main__":
    main()
