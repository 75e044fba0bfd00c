#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs `attune tune` under the name of aiter's tuner, so that its commands work unchanged. The name of this file, without
`_tune.py`, is the op. $ATTUNE_PROGRAM is the program, else `attune` on PATH."""
import os
import sys
from pathlib import Path

op = Path(sys.argv[0]).name.removesuffix("_tune.py")
program = os.environ.get("ATTUNE_PROGRAM") or "attune"
try:
    os.execvp(program, [program, "tune", "--op", op, *sys.argv[1:]])
except OSError as error:
    print(f"{sys.argv[0]}: cannot start the program ({error.strerror}), set ATTUNE_PROGRAM or PATH: '{program}'", file=sys.stderr)
    sys.exit(2)
