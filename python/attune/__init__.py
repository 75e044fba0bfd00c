# SPDX-License-Identifier: MIT
"""Matrix products by the kernels that tuned tables name.

    y = attune.gemm_a16w16(x, w, bias)          # NumPy, or PyTorch through DLPack
    with attune.capture("captures"): ...        # the shapes that are called
    attune.tune("captures/bf16_untuned_gemm.csv", "tuned.csv")

What a lookup does, and the variables that name tables: docs/run_time.md. All of this package: docs/python.md.
"""

from __future__ import annotations

from attune import errors
from attune.errors import Error
from attune._attune import (
    PackedWeights,
    counts,
    explain,
    gemm_a16w16,
    notices,
    pack_weights,
    reload,
    run,
    tables,
    version,
)
from attune._capture import capture
from attune._tune import Progress, tune

__version__ = version
__all__ = [
    "Error",
    "PackedWeights",
    "Progress",
    "capture",
    "counts",
    "errors",
    "explain",
    "gemm_a16w16",
    "notices",
    "pack_weights",
    "reload",
    "run",
    "tables",
    "tune",
    "version",
]
