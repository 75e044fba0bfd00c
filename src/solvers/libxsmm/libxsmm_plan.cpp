// SPDX-License-Identifier: MIT
#include "solvers/libxsmm/libxsmm_plan.h"

#include <libxsmm.h>
#include <omp.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "solver/module/openmp_team.h"
#include "tensor/convert.h"

namespace attune {
namespace {

constexpr uint64_t kLineBytes = 64;

int64_t tiles_of(int64_t extent, int64_t tile) { return (extent + tile - 1) / tile; }

size_t bytes_of(DType dtype) { return dtype == DType::fp32 ? 4 : 2; }

}  // namespace

/// The operands of one run.
struct LibxsmmPlan::Work {
  const std::byte *a, *b;
  std::byte *c, *workspace;
};

LibxsmmPlan::LibxsmmPlan(const GemmShape& shape, const LibxsmmTiles& tiles, int threads)
    : shape_(shape), tiles_(tiles), threads_(threads) {
  for (const bool rest_m : {false, true}) {
    for (const bool rest_n : {false, true}) {
      for (const bool rest_k : {false, true}) {
        for (const bool adds : {false, true}) generate({rest_m, rest_n, rest_k, adds});
      }
    }
  }
  if (packs()) {
    const auto bytes = static_cast<uint64_t>(tiles.n * tiles.k) * bytes_of(shape.in);
    panel_bytes_ = (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
  }
  traits_.workspace_bytes = panel_bytes_ * static_cast<uint64_t>(threads);
  // Each kernel occupies two pages. libxsmm never frees them, and generates at most 131,072 in a process.
  constexpr uint64_t kKernelBytes = 8192;
  const auto num_kernels = std::count_if(kernels_.begin(), kernels_.end(), [](Kernel one) { return one != nullptr; });
  traits_.host_bytes = sizeof *this + kKernelBytes * static_cast<uint64_t>(num_kernels);
}

void LibxsmmPlan::generate(const Variant& variant) {
  const auto extent = [](bool rest, int64_t whole, int64_t tile) {
    return static_cast<libxsmm_blasint>(rest ? whole % tile : tile);
  };
  const auto m = extent(variant.rest_m, shape_.m, tiles_.m), n = extent(variant.rest_n, shape_.n, tiles_.n),
             k = extent(variant.rest_k, shape_.k, tiles_.k);
  if (m == 0 || n == 0 || k == 0) return;
  const auto lda = static_cast<libxsmm_blasint>(packs() ? tiles_.n : shape_.n);
  const auto ldb = static_cast<libxsmm_blasint>(shape_.trans_a ? shape_.m : shape_.k);
  const auto ldc = static_cast<libxsmm_blasint>(shape_.n);
  const float alpha = 1, beta = variant.adds ? 1 : 0;
  int flags = shape_.trans_a ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
  libxsmm_xmmfunction kernel{};
  if (shape_.in == DType::fp32) {
    kernel.smm = libxsmm_smmdispatch(n, m, k, &lda, &ldb, &ldc, &alpha, &beta, &flags, nullptr);
  } else {
    flags |= LIBXSMM_GEMM_FLAG_VNNI_A;
    if (shape_.out == DType::fp32)
      kernel.bsmm = libxsmm_bsmmdispatch(n, m, k, &lda, &ldb, &ldc, &alpha, &beta, &flags, nullptr);
    else
      kernel.bmm = libxsmm_bmmdispatch(n, m, k, &lda, &ldb, &ldc, &alpha, &beta, &flags, nullptr);
  }
  kernels_[variant.index()] = kernel.xmm;
  if (!kernel.xmm)
    fail(ErrorCode::unavailable, "libxsmm cannot generate a kernel for {}: {}×{}×{}", libxsmm_get_target_arch(), m, n,
         k);
}

void LibxsmmPlan::run(const Launch& launch) const {
  const auto where = GemmOperands::of(shape_);
  const auto operand = [&](size_t index) { return static_cast<std::byte*>(launch.operands[index]); };
  const Work work{operand(where.a), operand(where.b), operand(where.c), static_cast<std::byte*>(launch.workspace)};
  if (shape_.bias) set_to_bias(launch.operands[where.bias], work.c);
  if (threads_ > 1) {
    if (const OpenmpTeam team(threads_); team.size() > 1) {
#pragma omp parallel num_threads(threads_)
      run_share(work, omp_get_thread_num(), omp_get_num_threads());
      return;
    }
  }
  run_share(work, 0, 1);
}

void LibxsmmPlan::set_to_bias(const void* bias, std::byte* c) const {
  const size_t row_bytes = static_cast<size_t>(shape_.n) * bytes_of(shape_.out);
  if (shape_.in == shape_.out)
    std::memcpy(c, bias, row_bytes);
  else
    to_float(shape_.in, static_cast<const std::byte*>(bias),
             {reinterpret_cast<float*>(c), static_cast<size_t>(shape_.n)});
  for (int64_t row = 1; row < shape_.m; ++row) std::memcpy(c + static_cast<size_t>(row) * row_bytes, c, row_bytes);
}

const std::byte* LibxsmmPlan::weights(const Work& work, int64_t column, int64_t depth, std::byte* panel) const {
  const auto size = static_cast<int64_t>(bytes_of(shape_.in));
  if (!packs()) return work.b + (depth * shape_.n + column) * size;
  // bf16 is packed in pairs along k, the order its kernels expect: a pair is moved like one fp32.
  const int64_t per_word = 4 / size;
  const auto n = std::min(tiles_.n, shape_.n - column), k = std::min(tiles_.k, shape_.k - depth);
  libxsmm_otrans(panel, work.b + (column * shape_.k + depth) * size, 4, static_cast<libxsmm_blasint>(k / per_word),
                 static_cast<libxsmm_blasint>(n), static_cast<libxsmm_blasint>(shape_.k / per_word),
                 static_cast<libxsmm_blasint>(tiles_.n));
  return panel;
}

void LibxsmmPlan::run_share(const Work& work, int64_t thread, int64_t team) const {
  const int64_t rows = tiles_of(shape_.m, tiles_.m), columns = tiles_of(shape_.n, tiles_.n);
  const int64_t first = rows * columns * thread / team, end = rows * columns * (thread + 1) / team;
  std::byte* panel = work.workspace + static_cast<uint64_t>(thread) * panel_bytes_;
  const auto in = static_cast<int64_t>(bytes_of(shape_.in)), out = static_cast<int64_t>(bytes_of(shape_.out));
  // Tiles are numbered down the columns of C, so that one transposed tile of weights serves all rows of a share.
  for (int64_t tile = first; tile < end;) {
    const int64_t column = tile / rows * tiles_.n, next = std::min(end, (tile / rows + 1) * rows);
    for (int64_t depth = 0; depth < shape_.k; depth += tiles_.k) {
      const std::byte* b = weights(work, column, depth, panel);
      for (int64_t each = tile; each < next; ++each) {
        const int64_t row = each % rows * tiles_.m;
        const Variant variant{row + tiles_.m > shape_.m, column + tiles_.n > shape_.n, depth + tiles_.k > shape_.k,
                              depth > 0 || shape_.bias};
        const int64_t from = shape_.trans_a ? depth * shape_.m + row : row * shape_.k + depth;
        kernels_[variant.index()](b, work.a + from * in, work.c + (row * shape_.n + column) * out);
      }
    }
    tile = next;
  }
}

}  // namespace attune
