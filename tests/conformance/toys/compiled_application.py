# SPDX-License-Identifier: MIT
"""An application that calls a shape through the C interface: prints the match, and whether another kernel stands in.

usage: compiled_application.py LIBRARY PROBLEM"""
import ctypes
import sys

from application import Hit, Key


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.attune_match_name.restype = library.attune_last_error.restype = ctypes.c_char_p
    dispatcher, key, hit = ctypes.c_void_p(), Key(size=ctypes.sizeof(Key)), Hit(size=ctypes.sizeof(Hit))
    for status in (library.attune_global(ctypes.byref(dispatcher)), library.attune_parse_key(sys.argv[2].encode(), ctypes.byref(key)),
                   library.attune_require_key(dispatcher, ctypes.byref(key), None, ctypes.byref(hit))):
        assert status == 0, library.attune_last_error().decode()
    print(library.attune_match_name(hit.match).decode(), hit.rest[1])


main()
