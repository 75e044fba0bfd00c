# SPDX-License-Identifier: MIT
"""Matrix products with the kernels from tuned tables.

    y = attune.gemm_a16w16(x, w, bias)          # NumPy, or PyTorch through DLPack
    with attune.capture("captures"): ...        # collects the called shapes
    attune.tune("captures/bf16_untuned_gemm.csv", "tuned.csv")

docs/lookups.md describes lookups, docs/variables.md the variables that name tables, docs/python.md this package.
"""

from __future__ import annotations

from attune import errors
from attune.errors import Error
from attune._attune import (
    PackedOperands,
    PackedWeights,
    candidates,
    counts,
    explain,
    gemm_a16w16,
    gemm_a4w4_blockscale,
    gemm_a8w8,
    gemm_a8w8_blockscale,
    get_num_threads,
    notices,
    pack_operands,
    pack_weights,
    release_memory,
    reload,
    requirement,
    run,
    set_num_threads,
    tables,
    version,
)
from attune._capture import capture
from attune._quantise import dequantise, quantise_blocks, quantise_mxfp4, quantise_rows, quantise_tensor
from attune._tune import Progress, tune

__version__ = version
__all__ = [
    "Error",
    "PackedOperands",
    "PackedWeights",
    "Progress",
    "candidates",
    "capture",
    "counts",
    "dequantise",
    "errors",
    "explain",
    "gemm_a16w16",
    "gemm_a4w4_blockscale",
    "gemm_a8w8",
    "gemm_a8w8_blockscale",
    "get_num_threads",
    "notices",
    "pack_operands",
    "pack_weights",
    "quantise_blocks",
    "quantise_mxfp4",
    "quantise_rows",
    "quantise_tensor",
    "release_memory",
    "reload",
    "requirement",
    "run",
    "set_num_threads",
    "tables",
    "tune",
    "version",
]
