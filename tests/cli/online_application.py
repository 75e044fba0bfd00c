# SPDX-License-Identifier: MIT
"""A server in small: calls one product again and again through libattune.so ($ATTUNE_LIBRARY), until a row of its own
serves it or the time is over. Prints a JSON object: the first and the last match, whether the kernel was ready, and the
longest of the calls in between.

usage: online_application.py PROBLEM SECONDS"""
import ctypes
import json
import os
import sys
import time


class Key(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_int64) for name in ("m", "n", "k", "batch")] + [
        (name, ctypes.c_uint32) for name in ("op", "in_dtype", "out_dtype", "flags")]


class Hit(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("match", ctypes.c_uint32), ("row", ctypes.c_uint32),
                ("ready", ctypes.c_uint8), ("is_stand_in", ctypes.c_uint8), ("drifted", ctypes.c_uint8),
                ("regret_percent", ctypes.c_uint8), ("reserved", ctypes.c_uint8 * 4)]


MATCHES = ("exact", "padded_fine", "padded_coarse", "predicted", "fallback")
library = ctypes.CDLL(os.environ["ATTUNE_LIBRARY"])
library.attune_last_error.restype = ctypes.c_char_p


def call(name, *arguments):
    if getattr(library, name)(*arguments) != 0:
        sys.exit(library.attune_last_error().decode())


dispatcher, key, hit = ctypes.c_void_p(), Key(size=ctypes.sizeof(Key)), Hit(size=ctypes.sizeof(Hit))
call("attune_global", ctypes.byref(dispatcher))
call("attune_problem_key", sys.argv[1].encode(), ctypes.byref(key))
call("attune_require", dispatcher, ctypes.byref(key), ctypes.byref(hit))
first, longest = MATCHES[hit.match], 0.0
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end and not (MATCHES[hit.match] == "exact" and hit.ready):
    began = time.monotonic()
    call("attune_require", dispatcher, ctypes.byref(key), ctypes.byref(hit))
    longest = max(longest, time.monotonic() - began)
    time.sleep(0.001)
print(json.dumps({"first": first, "last": MATCHES[hit.match], "ready": bool(hit.ready), "longest_s": longest}))
