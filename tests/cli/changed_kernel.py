# SPDX-License-Identifier: MIT
"""Compiled kernels of a cache with one instruction changed, and signed again: their digests are right, their results are not.

An instruction that multiplies and adds reads another register, in a shared object of x86-64 or a cubin.
"""
import hashlib
import json
import re
import struct
from pathlib import Path

EXECUTABLE = 4  # Flag of a section.
X86_64, CUDA = 62, 190  # Machines.
# A prefix (VEX, EVEX) with the second register in its third byte, then vfmadd132/213/231 of vectors.
X86_FMA = re.compile(rb"\xc4[\x02\x22\x42\x62\x82\xa2\xc2\xe2][\x00-\xff][\x98\xa8\xb8]|\x62[\x00-\xff]{2}[\x00-\xff][\x98\xa8\xb8]", re.DOTALL)
# Opcodes of FFMA, HFMA2 and HMMA with registers, and the bit of the first operand's number that is changed.
SASS_FMA = {0x223: 1, 0x231: 1, 0x23C: 4}
NO_REGISTER = 255


def code_of(image):
    """(offset, size) of each executable section of a 64-bit ELF file."""
    table, = struct.unpack_from("<Q", image, 40)
    size, count = struct.unpack_from("<HH", image, 58)
    for at in range(table, table + size * count, size):
        flags, _, offset, length = struct.unpack_from("<QQQQ", image, at + 8)
        if flags & EXECUTABLE:
            yield offset, length


def is_x86_fma(code):
    """VEX and EVEX: the map 0F38 and the prefix 66."""
    if code[0] == 0xC4:
        return code[2] & 3 == 1
    return code[1] & 0xF == 2 and code[2] & 7 == 5


def place_in_x86(image, offset, size):
    """Where the number of the second register lies, and the bit to change."""
    for found in X86_FMA.finditer(image, offset, offset + size):
        if is_x86_fma(found.group()):
            return found.start() + 2, 8
    return None


def place_in_cubin(image, offset, size):
    """The same for the first register that a cubin's instruction reads; each has 16 bytes."""
    for at in range(offset, offset + size, 16):
        bit = SASS_FMA.get(struct.unpack_from("<H", image, at)[0] & 0xFFF)
        if bit and NO_REGISTER not in (image[at + 3], image[at + 3] ^ bit):
            return at + 3, bit
    return None


def changed(image):
    """The image with one bit changed; None: no such instruction is in it."""
    find = {X86_64: place_in_x86, CUDA: place_in_cubin}.get(struct.unpack_from("<H", image, 18)[0])
    for offset, size in code_of(image) if find else ():
        if place := find(image, offset, size):
            at, bit = place
            return image[:at] + bytes([image[at] ^ bit]) + image[at + 1:]
    return None


def verifications(journal):
    """Of candidates with compiled kernels: (name, digests, status). `journal`: Story.journal()."""
    for kind, entry in journal:
        if kind == "record" and entry["stage"] == "verify" and entry["binaries"]:
            name = "{solver}@{version}:{config}".format(**entry["candidate"])
            yield name, {digest for _, _, digest in entry["binaries"]}, entry["outcome"]["status"]


def change_all(cache):
    """Changes every kernel of a cache that has such an instruction; the new digests."""
    digests = set()
    for description in Path(cache).glob("*/*/*/entry.json"):
        kernel, entry = description.with_name("kernel"), json.loads(description.read_text())
        if (image := changed(kernel.read_bytes())) is None:
            continue
        entry["sha256"] = hashlib.sha256(image).hexdigest()
        kernel.write_bytes(image)
        description.write_text(json.dumps(entry))
        digests.add(entry["sha256"])
    return digests
