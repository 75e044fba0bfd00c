# SPDX-License-Identifier: MIT
"""As tests/install/guest.c, from Python: guest.py numpy|torch CALLS TABLE NEXT_TABLE CANDIDATE …"""
import os
import sys
import time

import numpy as np

import attune

kind, calls, table, following, candidates = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5:]
PROBLEM = "gemm_a16w16 m=48 n=96 k=64 dtype=fp32"


def operands(m, n, k):
    """Small whole numbers: sums are exact in any order."""
    x = (np.arange(m * k) * 7 % 5 - 2).astype(np.float32).reshape(m, k)
    return x, (np.arange(n * k) * 3 % 7 - 3).astype(np.float32).reshape(n, k)


def check(m, n, k):
    x, w = operands(m, n, k)
    assert np.array_equal(product(x, w), reference(x, w)), (m, n, k)


def reference(x, w):
    """Without NumPy's BLAS, whose threads a ThreadSanitizer does not understand."""
    return np.einsum("mk,nk->mn", x, w)


product = attune.gemm_a16w16
if kind == "torch":
    import torch

    import attune.torch

    torch.set_num_threads(len(os.sched_getaffinity(0)))  # PyTorch takes one a core.
    attune.torch.patch()

    def product(x, w):
        return torch.nn.functional.linear(torch.from_numpy(x), torch.from_numpy(w)).numpy()


for candidate in candidates:
    x, w = operands(48, 96, 64)
    y = np.zeros((48, 96), np.float32)
    attune.run(PROBLEM, candidate, [x, w, y])
    assert np.array_equal(y, reference(x, w)), candidate
for i in range(6000):
    check(48, 96, 64)
    if attune.counts()["shapes"] and "is being compiled" not in (text := attune.explain(PROBLEM)) and f"{table}:2" in text:
        break
    time.sleep(0.01)
for wrong in ("onednn.gemm@1:impl=none;threads=1", "nothing"):
    try:
        attune.run(PROBLEM, wrong, [x, w, y])
        raise SystemExit("no error")
    except attune.Error:
        pass
for i in range(calls):
    check((1, 2, 3, 5, 7, 8, 16, 17, 33, 48)[i // 2 % 10], *((37, 113) if i % 2 else (41, 64)))
os.replace(following, table)
attune.reload()
check(48, 96, 64)
if kind == "torch":
    attune.torch.unpatch()
