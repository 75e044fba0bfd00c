# SPDX-License-Identifier: MIT
"""The end of a benchmark's program: it runs in a folder for captures and tables, and its result is the exit status."""

import sys
import tempfile
from pathlib import Path

import torch


def end_with(run, options):
    """Ends the program with what run(options, folder) returns, without gradients. The folder is that of --keep, or goes
    with the program."""
    with torch.inference_mode(), tempfile.TemporaryDirectory() as folder:
        sys.exit(run(options, options.keep or Path(folder)))
