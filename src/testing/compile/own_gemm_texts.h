// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace attune {

/// A user's GEMM in a file of its own, for tests: the head with its configs, and the function.
inline const std::string kOwnConfigs = R"(import triton
import triton.language as tl


def sizes():
    for m, n, k in ((64, 64, 32), (128, 64, 64), (16, 32, 64)):
        yield triton.Config({"BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "BLOCK_SIZE_K": k, "GROUP_SIZE_M": 8}, num_warps=4, num_stages=3)


@triton.autotune(configs=list(sizes()), key=["M", "N", "K"])
)";
inline const std::string kOwnImports = "import triton\nimport triton.language as tl\n\n\n";

inline const std::string kOwnGemm = R"(@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, bias_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                  BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr,
                  GROUP_SIZE_M: tl.constexpr, EXACT: tl.constexpr = "ieee"):
    tiles_m = tl.cdiv(M, BLOCK_SIZE_M)
    tiles_n = tl.cdiv(N, BLOCK_SIZE_N)
    in_group = GROUP_SIZE_M * tiles_n
    first = tl.program_id(0) // in_group * GROUP_SIZE_M
    rows = min(tiles_m - first, GROUP_SIZE_M)
    rm = (first + tl.program_id(0) % in_group % rows) * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    rn = (tl.program_id(0) % in_group // rows) * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    rk = tl.arange(0, BLOCK_SIZE_K)
    a_at = a_ptr + (rm % M)[:, None] * stride_am + rk[None, :] * stride_ak
    b_at = b_ptr + rk[:, None] * stride_bk + (rn % N)[None, :] * stride_bn
    sums = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        left = K - k * BLOCK_SIZE_K
        a = tl.load(a_at, mask=rk[None, :] < left, other=0.0)
        b = tl.load(b_at, mask=rk[:, None] < left, other=0.0)
        sums = tl.dot(a, b, sums, input_precision=EXACT)
        a_at += BLOCK_SIZE_K * stride_ak
        b_at += BLOCK_SIZE_K * stride_bk
    if bias_ptr is not None:
        sums += tl.load(bias_ptr + rn, mask=rn < N, other=0.0).to(tl.float32)[None, :]
    c_at = c_ptr + rm[:, None] * stride_cm + rn[None, :] * stride_cn
    tl.store(c_at, sums.to(c_ptr.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))
)";

/// Parts of K are added to C, which must be zero before.
inline const std::string kOwnSplitGemm = R"(import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BM": 32, "BN": 32, "BK": 32, "SPLIT_K": parts}) for parts in (1, 4)],
                 key=["M"], reset_to_zero=["c"])
@triton.jit
def split_kernel(a, b, c, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                 BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT_K: tl.constexpr):
    rm = tl.program_id(0) // tl.cdiv(N, BN) * BM + tl.arange(0, BM)
    rn = tl.program_id(0) % tl.cdiv(N, BN) * BN + tl.arange(0, BN)
    rk = tl.program_id(1) * BK + tl.arange(0, BK)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK * SPLIT_K)):
        at = rk + k * BK * SPLIT_K
        x = tl.load(a + (rm % M)[:, None] * stride_am + at[None, :] * stride_ak, mask=at[None, :] < K, other=0.0)
        y = tl.load(b + at[:, None] * stride_bk + (rn % N)[None, :] * stride_bn, mask=at[:, None] < K, other=0.0)
        sums = tl.dot(x, y, sums, input_precision="ieee")
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.atomic_add(c + rm[:, None] * stride_cm + rn[None, :] * stride_cn, sums.to(c.dtype.element_ty), mask=mask)
)";

/// Returns a text with one part replaced by another.
inline std::string replaced(std::string text, const std::string& part, const std::string& by) {
  return text.replace(text.find(part), part.size(), by);
}

}  // namespace attune
