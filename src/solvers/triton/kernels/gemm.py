# SPDX-License-Identifier: MIT
import triton
import triton.language as tl


# C = op(A)·op(B) (+ bias), C row-major m×n. A is m×k, or k×m where A_IS_KM; B is n×k, or k×n where B_IS_KN. A program
# computes one tile of C over one part of k; parts are multiples of BLOCK_SIZE_K, the last may be shorter, none is empty.
# With IS_SPLIT, c takes the sums of each part (part × m × n) in fp32, and sum_of_parts makes C of them.
@triton.jit
def gemm(a, b, bias, c, m, n, k, k_of_part, group_size_m, A_IS_KM: tl.constexpr, B_IS_KN: tl.constexpr,
         HAS_BIAS: tl.constexpr, IS_SPLIT: tl.constexpr, MASKS_K: tl.constexpr, BLOCK_SIZE_M: tl.constexpr,
         BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr):
    tiles_m = tl.cdiv(m, BLOCK_SIZE_M)
    tiles_n = tl.cdiv(n, BLOCK_SIZE_N)
    tiles = tiles_m * tiles_n
    part = tl.program_id(0) // tiles
    tile = tl.program_id(0) % tiles
    # Neighbours in a group of rows share columns of B in the cache.
    tiles_of_group = group_size_m * tiles_n
    first_m = tile // tiles_of_group * group_size_m
    rows_of_group = tl.minimum(tiles_m - first_m, group_size_m)
    tile_m = first_m + tile % tiles_of_group % rows_of_group
    tile_n = tile % tiles_of_group // rows_of_group

    rows = tile_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    columns = tile_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    steps = tl.arange(0, BLOCK_SIZE_K)
    k_begin = part * k_of_part
    k_end = tl.minimum(k, k_begin + k_of_part)
    # Where memory lies along k, places beyond the last row read the last row again, without a mask.
    if A_IS_KM:
        a_at = a + (k_begin + steps).to(tl.int64)[None, :] * m + rows[:, None]
    else:
        a_at = a + tl.minimum(rows, m - 1).to(tl.int64)[:, None] * k + (k_begin + steps)[None, :]
    if B_IS_KN:
        b_at = b + (k_begin + steps).to(tl.int64)[:, None] * n + columns[None, :]
    else:
        b_at = b + tl.minimum(columns, n - 1).to(tl.int64)[None, :] * k + (k_begin + steps)[:, None]

    sums = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for step in range(k_begin, k_end, BLOCK_SIZE_K):
        a_mask = None
        b_mask = None
        if MASKS_K:
            a_mask = (steps < k_end - step)[None, :]
            b_mask = (steps < k_end - step)[:, None]
        if A_IS_KM:
            a_mask = (rows < m)[:, None] if a_mask is None else a_mask & (rows < m)[:, None]
        if B_IS_KN:
            b_mask = (columns < n)[None, :] if b_mask is None else b_mask & (columns < n)[None, :]
        a_tile = tl.load(a_at, mask=a_mask, other=None if a_mask is None else 0.0)
        b_tile = tl.load(b_at, mask=b_mask, other=None if b_mask is None else 0.0)
        sums = tl.dot(a_tile, b_tile, sums, input_precision="ieee")
        if A_IS_KM:
            a_at += m.to(tl.int64) * BLOCK_SIZE_K
        else:
            a_at += BLOCK_SIZE_K
        if B_IS_KN:
            b_at += n.to(tl.int64) * BLOCK_SIZE_K
        else:
            b_at += BLOCK_SIZE_K

    if HAS_BIAS:
        sums += tl.load(bias + columns, mask=columns < n, other=0.0).to(tl.float32)[None, :]
    c_at = c + rows.to(tl.int64)[:, None] * n + columns[None, :]
    if IS_SPLIT:
        c_at += part.to(tl.int64) * m * n
    tl.store(c_at, sums.to(c.dtype.element_ty), mask=(rows < m)[:, None] & (columns < n)[None, :])
