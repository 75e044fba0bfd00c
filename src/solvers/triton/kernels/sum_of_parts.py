# SPDX-License-Identifier: MIT
import triton
import triton.language as tl


# C = sums of the parts, added in their order (+ bias). `sums`: parts × elements, C: elements = m·n.
@triton.jit
def sum_of_parts(sums, bias, c, elements, n, parts, HAS_BIAS: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    is_there = at < elements
    total = tl.load(sums + at, mask=is_there, other=0.0)
    for _ in range(1, parts):
        sums += elements
        total += tl.load(sums + at, mask=is_there, other=0.0)
    if HAS_BIAS:
        total += tl.load(bias + at % n, mask=is_there, other=0.0).to(tl.float32)
    tl.store(c + at, total.to(c.dtype.element_ty), mask=is_there)
