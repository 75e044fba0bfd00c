# SPDX-License-Identifier: MIT
"""The CUDA libraries of this process, which what it starts should tune with: rows of another version do not serve here."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "ATTUNE_LIBRARIES"  # Folders in which the program looks for libraries first.
_FILE = "libcublasLt.so."


def folder(maps: Path = Path("/proc/self/maps")) -> str | None:
    """Returns the folder of the cuBLASLt that this process has loaded, as PyTorch for CUDA does when it is imported; None
    if it has not."""
    try:
        lines = os.fsdecode(maps.read_bytes()).splitlines()
    except OSError:
        return None
    for line in lines:
        file = line.partition("/")[2]
        if file.rpartition("/")[2].startswith(_FILE):
            found = os.path.dirname("/" + file)
            return None if ":" in found else found  # The variable has no notation for one.
    return None


def is_unset() -> bool:
    """Whether nobody has set VARIABLE. An empty one counts as unset, as all variables of Attune do (docs/variables.md)."""
    return not os.environ.get(VARIABLE)


def environment() -> dict[str, str]:
    """Returns the environment of a program that this process starts: its own, and VARIABLE unless somebody has set it."""
    found = folder()
    return {**os.environ, VARIABLE: found} if found and is_unset() else dict(os.environ)
