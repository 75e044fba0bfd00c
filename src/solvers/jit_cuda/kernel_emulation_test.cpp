// SPDX-License-Identifier: MIT
// The kernels' own texts on the emulated GPU: each element of C at odd sizes, nothing outside C, any order of blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "attune/tensor.h"
#include "solvers/jit_cuda/emulated_gpu.h"
#include "solvers/jit_cuda/gemm_config.h"
#include "solvers/jit_cuda/kernel_arguments.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"  // Each kernel uses some of rows.cu.

// Each space has the constants of a config, as kernel_text.cpp writes them, and the texts behind them.
namespace attune::emulated_gpu::dot_bf16 {
using jit_cuda::KernelArguments;
constexpr int kIn = 1, kOut = 1, kRows = 4, kColumns = 2, kWarps = 2, kDepthWarps = 2, kUnroll = 2;
constexpr bool kIsShifted = false, kIsPacked = false, kIsSplit = true, kIsMatrix = false;
#define attune_product dot_bf16_product
#define attune_sum_parts dot_bf16_sums
#include "solvers/jit_cuda/rows.cu"
#include "solvers/jit_cuda/stream_kernel.cu"
#undef attune_product
#undef attune_sum_parts
}  // namespace attune::emulated_gpu::dot_bf16

namespace attune::emulated_gpu::dot_fp32_shifted {
using jit_cuda::KernelArguments;
constexpr int kIn = 0, kOut = 0, kRows = 2, kColumns = 4, kWarps = 1, kDepthWarps = 4, kUnroll = 1;
constexpr bool kIsShifted = true, kIsPacked = false, kIsSplit = false, kIsMatrix = false;
#define attune_product dot_fp32_product
#define attune_sum_parts dot_fp32_sums
#include "solvers/jit_cuda/rows.cu"
#include "solvers/jit_cuda/stream_kernel.cu"
#undef attune_product
#undef attune_sum_parts
}  // namespace attune::emulated_gpu::dot_fp32_shifted

namespace attune::emulated_gpu::stream_bf16_shifted {
using jit_cuda::KernelArguments;
constexpr int kIn = 1, kOut = 0, kRows = 16, kColumns = 16, kWarps = 2, kDepthWarps = 2, kUnroll = 2;
constexpr bool kIsShifted = true, kIsPacked = false, kIsSplit = true, kIsMatrix = true;
#define attune_product stream_bf16_product
#define attune_sum_parts stream_bf16_sums
#include "solvers/jit_cuda/rows.cu"
#include "solvers/jit_cuda/stream_kernel.cu"
#undef attune_product
#undef attune_sum_parts
}  // namespace attune::emulated_gpu::stream_bf16_shifted

namespace attune::emulated_gpu::tile_fp16 {
using jit_cuda::KernelArguments;
constexpr int kIn = 2, kOut = 2, kBlockM = 32, kBlockN = 64, kBlockK = 64, kStages = 3, kWarpsM = 1, kWarpsN = 2;
constexpr bool kIsShifted = false, kIsPacked = false, kIsSplit = true;
#define attune_product tile_fp16_product
#define attune_sum_parts tile_fp16_sums
#include "solvers/jit_cuda/rows.cu"
#include "solvers/jit_cuda/tile_kernel.cu"
#include "solvers/jit_cuda/tile_parts.cu"
#undef attune_product
#undef attune_sum_parts
}  // namespace attune::emulated_gpu::tile_fp16

namespace attune::emulated_gpu::tile_bf16_shifted {
using jit_cuda::KernelArguments;
constexpr int kIn = 1, kOut = 1, kBlockM = 32, kBlockN = 32, kBlockK = 32, kStages = 2, kWarpsM = 2, kWarpsN = 1;
constexpr bool kIsShifted = true, kIsPacked = false, kIsSplit = false;
#define attune_product tile_bf16_product
#define attune_sum_parts tile_bf16_sums
#include "solvers/jit_cuda/rows.cu"
#include "solvers/jit_cuda/tile_kernel.cu"
#include "solvers/jit_cuda/tile_parts.cu"
#undef attune_product
#undef attune_sum_parts
}  // namespace attune::emulated_gpu::tile_bf16_shifted

namespace attune::emulated_gpu::dot_fp32_packed {
using jit_cuda::KernelArguments;
constexpr int kIn = 0, kOut = 0, kRows = 2, kColumns = 4, kWarps = 1, kDepthWarps = 4, kUnroll = 1;
constexpr bool kIsShifted = true, kIsPacked = true, kIsSplit = false, kIsMatrix = false;
#define attune_product dot_fp32_packed_product
#define attune_sum_parts dot_fp32_packed_sums
#include "solvers/jit_cuda/rows.cu"
#include "solvers/jit_cuda/stream_kernel.cu"
#undef attune_product
#undef attune_sum_parts
}  // namespace attune::emulated_gpu::dot_fp32_packed

namespace attune::emulated_gpu::stream_fp16_packed {
using jit_cuda::KernelArguments;
constexpr int kIn = 2, kOut = 2, kRows = 8, kColumns = 32, kWarps = 1, kDepthWarps = 2, kUnroll = 4;
constexpr bool kIsShifted = true, kIsPacked = true, kIsSplit = true, kIsMatrix = true;
#define attune_product stream_fp16_packed_product
#define attune_sum_parts stream_fp16_packed_sums
#include "solvers/jit_cuda/rows.cu"
#include "solvers/jit_cuda/stream_kernel.cu"
#undef attune_product
#undef attune_sum_parts
}  // namespace attune::emulated_gpu::stream_fp16_packed

namespace attune::emulated_gpu::tile_bf16_packed {
using jit_cuda::KernelArguments;
constexpr int kIn = 1, kOut = 0, kBlockM = 16, kBlockN = 64, kBlockK = 64, kStages = 3, kWarpsM = 1, kWarpsN = 2;
constexpr bool kIsShifted = false, kIsPacked = true, kIsSplit = true;
#define attune_product tile_bf16_packed_product
#define attune_sum_parts tile_bf16_packed_sums
#include "solvers/jit_cuda/rows.cu"
#include "solvers/jit_cuda/tile_kernel.cu"
#include "solvers/jit_cuda/tile_parts.cu"
#undef attune_product
#undef attune_sum_parts
}  // namespace attune::emulated_gpu::tile_bf16_packed

namespace attune::emulated_gpu::tile_packed_shifted {
using jit_cuda::KernelArguments;
constexpr int kIn = 1, kOut = 1, kBlockM = 32, kBlockN = 32, kBlockK = 32, kStages = 2, kWarpsM = 2, kWarpsN = 1;
constexpr bool kIsShifted = true, kIsPacked = true, kIsSplit = false;
#define attune_product tile_packed_shifted_product
#define attune_sum_parts tile_packed_shifted_sums
#include "solvers/jit_cuda/rows.cu"
#include "solvers/jit_cuda/tile_kernel.cu"
#include "solvers/jit_cuda/tile_parts.cu"
#undef attune_product
#undef attune_sum_parts
}  // namespace attune::emulated_gpu::tile_packed_shifted

namespace attune::emulated_gpu::shares_fp16 {
using jit_cuda::KernelArguments;
constexpr int kIn = 2, kOut = 0, kBlockM = 32, kBlockN = 64, kBlockK = 64, kStages = 3, kWarpsM = 1, kWarpsN = 2;
constexpr bool kIsShifted = false, kIsPacked = false, kIsSplit = false;
#define attune_product shares_fp16_product
#define attune_sum_parts shares_fp16_sums
#include "solvers/jit_cuda/rows.cu"
#include "solvers/jit_cuda/tile_kernel.cu"
#include "solvers/jit_cuda/tile_shares.cu"
#undef attune_product
#undef attune_sum_parts
}  // namespace attune::emulated_gpu::shares_fp16

namespace attune::emulated_gpu::shares_packed_shifted {
using jit_cuda::KernelArguments;
constexpr int kIn = 1, kOut = 1, kBlockM = 32, kBlockN = 32, kBlockK = 32, kStages = 2, kWarpsM = 2, kWarpsN = 1;
constexpr bool kIsShifted = true, kIsPacked = true, kIsSplit = false;
#define attune_product shares_packed_shifted_product
#define attune_sum_parts shares_packed_shifted_sums
#include "solvers/jit_cuda/rows.cu"
#include "solvers/jit_cuda/tile_kernel.cu"
#include "solvers/jit_cuda/tile_shares.cu"
#undef attune_product
#undef attune_sum_parts
}  // namespace attune::emulated_gpu::shares_packed_shifted

// What the emulated GPU must find out: texts that leave out what orders a GPU's threads.
namespace attune::emulated_gpu::tile_without_waits {
using jit_cuda::KernelArguments;
constexpr int kIn = 2, kOut = 2, kBlockM = 32, kBlockN = 64, kBlockK = 64, kStages = 3, kWarpsM = 1, kWarpsN = 2;
constexpr bool kIsShifted = false, kIsPacked = false, kIsSplit = true;
#define attune_product tile_without_waits_product
#define attune_sum_parts tile_without_waits_sums
template <int kLeft>
void no_wait() {}
#define copies_done no_wait
#include "solvers/jit_cuda/rows.cu"
#include "solvers/jit_cuda/tile_kernel.cu"
#include "solvers/jit_cuda/tile_parts.cu"
#undef copies_done
#undef attune_product
#undef attune_sum_parts
}  // namespace attune::emulated_gpu::tile_without_waits

namespace attune::emulated_gpu::tile_without_barriers {
using jit_cuda::KernelArguments;
constexpr int kIn = 2, kOut = 2, kBlockM = 32, kBlockN = 64, kBlockK = 64, kStages = 3, kWarpsM = 1, kWarpsN = 2;
constexpr bool kIsShifted = false, kIsPacked = false, kIsSplit = true;
#define attune_product tile_without_barriers_product
#define attune_sum_parts tile_without_barriers_sums
#undef __syncthreads
#define __syncthreads()
#include "solvers/jit_cuda/rows.cu"
#include "solvers/jit_cuda/tile_kernel.cu"
#include "solvers/jit_cuda/tile_parts.cu"
#undef __syncthreads
#define __syncthreads synchronize_block
#undef attune_product
#undef attune_sum_parts
}  // namespace attune::emulated_gpu::tile_without_barriers

namespace attune::emulated_gpu::tile_with_a_race {
using jit_cuda::KernelArguments;
constexpr int kIn = 2, kOut = 2, kBlockM = 32, kBlockN = 64, kBlockK = 64, kStages = 3, kWarpsM = 1, kWarpsN = 2;
constexpr bool kIsShifted = false, kIsPacked = false, kIsSplit = true;
#define attune_product tile_with_a_race_product
#define attune_sum_parts tile_with_a_race_sums
#undef atomicAdd
// The last but one takes itself for the last.
#define atomicAdd(counter, more) (add_once(counter, more) + 1)
#include "solvers/jit_cuda/rows.cu"
#include "solvers/jit_cuda/tile_kernel.cu"
#include "solvers/jit_cuda/tile_parts.cu"
#undef atomicAdd
#define atomicAdd add_once
#undef attune_product
#undef attune_sum_parts
}  // namespace attune::emulated_gpu::tile_with_a_race

namespace attune::emulated_gpu::shares_without_fences {
using jit_cuda::KernelArguments;
constexpr int kIn = 2, kOut = 0, kBlockM = 32, kBlockN = 64, kBlockK = 64, kStages = 3, kWarpsM = 1, kWarpsN = 2;
constexpr bool kIsShifted = false, kIsPacked = false, kIsSplit = false;
#define attune_product shares_without_fences_product
#define attune_sum_parts shares_without_fences_sums
#undef __threadfence
#define __threadfence()
#include "solvers/jit_cuda/rows.cu"
#include "solvers/jit_cuda/tile_kernel.cu"
#include "solvers/jit_cuda/tile_shares.cu"
#undef __threadfence
#define __threadfence fence
#undef attune_product
#undef attune_sum_parts
}  // namespace attune::emulated_gpu::shares_without_fences

namespace attune::emulated_gpu::shares_without_readers_fence {
using jit_cuda::KernelArguments;
constexpr int kIn = 2, kOut = 0, kBlockM = 32, kBlockN = 64, kBlockK = 64, kStages = 3, kWarpsM = 1, kWarpsN = 2;
constexpr bool kIsShifted = false, kIsPacked = false, kIsSplit = false;
#define attune_product shares_without_readers_fence_product
#define attune_sum_parts shares_without_readers_fence_sums
#undef __threadfence
#define __threadfence() (Block::current().has_unfenced_stores() ? fence() : void())
#include "solvers/jit_cuda/rows.cu"
#include "solvers/jit_cuda/tile_kernel.cu"
#include "solvers/jit_cuda/tile_shares.cu"
#undef __threadfence
#define __threadfence fence
#undef attune_product
#undef attune_sum_parts
}  // namespace attune::emulated_gpu::shares_without_readers_fence

namespace attune::emulated_gpu::shares_with_a_race {
using jit_cuda::KernelArguments;
constexpr int kIn = 2, kOut = 0, kBlockM = 32, kBlockN = 64, kBlockK = 64, kStages = 3, kWarpsM = 1, kWarpsN = 2;
constexpr bool kIsShifted = false, kIsPacked = false, kIsSplit = false;
#define attune_product shares_with_a_race_product
#define attune_sum_parts shares_with_a_race_sums
#undef atomicAdd
// The last but one takes itself for the last.
#define atomicAdd(counter, more) (add_once(counter, more) + 1)
#include "solvers/jit_cuda/rows.cu"
#include "solvers/jit_cuda/tile_kernel.cu"
#include "solvers/jit_cuda/tile_shares.cu"
#undef atomicAdd
#define atomicAdd add_once
#undef attune_product
#undef attune_sum_parts
}  // namespace attune::emulated_gpu::shares_with_a_race

namespace attune::emulated_gpu::shares_without_barriers {
using jit_cuda::KernelArguments;
constexpr int kIn = 2, kOut = 0, kBlockM = 32, kBlockN = 64, kBlockK = 64, kStages = 3, kWarpsM = 1, kWarpsN = 2;
constexpr bool kIsShifted = false, kIsPacked = false, kIsSplit = false;
#define attune_product shares_without_barriers_product
#define attune_sum_parts shares_without_barriers_sums
#undef __syncthreads
#define __syncthreads()
#include "solvers/jit_cuda/rows.cu"
#include "solvers/jit_cuda/tile_kernel.cu"
#include "solvers/jit_cuda/tile_shares.cu"
#undef __syncthreads
#define __syncthreads synchronize_block
#undef attune_product
#undef attune_sum_parts
}  // namespace attune::emulated_gpu::shares_without_barriers

namespace attune::emulated_gpu::tile_without_fences {
using jit_cuda::KernelArguments;
constexpr int kIn = 2, kOut = 2, kBlockM = 32, kBlockN = 64, kBlockK = 64, kStages = 3, kWarpsM = 1, kWarpsN = 2;
constexpr bool kIsShifted = false, kIsPacked = false, kIsSplit = true;
#define attune_product tile_without_fences_product
#define attune_sum_parts tile_without_fences_sums
#undef __threadfence
#define __threadfence()
#include "solvers/jit_cuda/rows.cu"
#include "solvers/jit_cuda/tile_kernel.cu"
#include "solvers/jit_cuda/tile_parts.cu"
#undef __threadfence
#define __threadfence fence
#undef attune_product
#undef attune_sum_parts
}  // namespace attune::emulated_gpu::tile_without_fences

#pragma GCC diagnostic pop
#undef ATTUNE_UNROLL
#undef __device__
#undef __global__
#undef __launch_bounds__
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#undef __syncthreads
#undef __threadfence
#undef __uint_as_float
#undef __ldcg
#undef __stcg
#undef atomicAdd

namespace attune::emulated_gpu {
namespace {

using jit_cuda::KernelArguments;

/// A kernel of the spaces above, and what the solver knows of it.
struct EmulatedKernel {
  void (*product)(KernelArguments);
  void (*sums)(KernelArguments);
  DType in, out;
  bool is_shifted, is_split;
  int rows, columns, k_multiple;
  size_t num_threads, shared_bytes;
  bool is_packed = false;
  bool has_shares = false;  ///< Stream-K: `parts` is the number of blocks.
};

struct EmulatedSizes {
  int m, n, k, parts, group;
};

/// Memory at a multiple of 16 bytes, between bytes that nobody may change.
class Guarded {
 public:
  explicit Guarded(size_t bytes, unsigned char content) : size_(bytes), memory_(bytes + 3 * kBand, kPattern) {
    begin_ = kBand + (16 - reinterpret_cast<uintptr_t>(memory_.data()) % 16) % 16;
    std::fill_n(memory_.begin() + static_cast<std::ptrdiff_t>(begin_), bytes, content);
  }
  unsigned char* data() { return memory_.data() + begin_; }
  bool is_whole() const {
    for (size_t i = 0; i < memory_.size(); ++i) {
      if ((i < begin_ || i >= begin_ + size_) && memory_[i] != kPattern) return false;
    }
    return true;
  }

 private:
  // As operands, the bytes around are NaNs.
  static constexpr unsigned char kPattern = 0xff;
  static constexpr size_t kBand = 64;
  size_t size_, begin_;
  std::vector<unsigned char> memory_;
};

class EmulatedProduct {
 public:
  /// Operands are whole multiples of 1 / `divisor`: with 8, sums are exact.
  EmulatedProduct(const EmulatedKernel& kernel, const EmulatedSizes& sizes, bool adds_in_block, unsigned seed,
                  int divisor = 8)
      : kernel_(kernel),
        sizes_(sizes),
        random_(seed),
        divisor_(divisor),
        a_(filled(values_of_a_, sizes.m * sizes.k)),
        b_(kernel.is_packed ? packed_weights() : filled(values_of_b_, sizes.n * sizes.k)),
        bias_(filled(values_of_bias_, sizes.n)),
        c_(static_cast<size_t>(sizes.m) * sizes.n * bytes_of(kernel.out), 0xcc) {
    const int steps = (sizes.k + kernel.k_multiple - 1) / kernel.k_multiple;
    const int length = (steps + sizes.parts - 1) / sizes.parts * kernel.k_multiple;
    const int parts = (sizes.k + length - 1) / length;
    const int tiles = ((sizes.m + kernel.rows - 1) / kernel.rows) * ((sizes.n + kernel.columns - 1) / kernel.columns);
    sums_.assign(static_cast<size_t>(parts) * sizes.m * sizes.n, std::numeric_limits<float>::quiet_NaN());
    counters_.assign(static_cast<size_t>(tiles), 0);
    arguments_ = {a_.data(), b_.data(),    bias_.data(),
                  c_.data(), sums_.data(), adds_in_block && kernel.is_split ? counters_.data() : nullptr,
                  sizes.m,   sizes.n,      sizes.k,
                  parts,     length,       sizes.group};
    num_blocks_ = static_cast<unsigned>(tiles * parts);
    if (!kernel.has_shares) return;
    num_blocks_ = static_cast<unsigned>(sizes.parts);
    sums_.assign(size_t{2} * num_blocks_ * static_cast<size_t>(kernel.rows * kernel.columns),
                 std::numeric_limits<float>::quiet_NaN());
    arguments_.sums = sums_.data();
    arguments_.counters = counters_.data();
  }

  /// Runs the kernel, its blocks in an order that the seed gives; returns what is wrong, or nothing.
  std::string wrong(unsigned order = 18) {
    std::vector<unsigned> blocks(num_blocks_);
    std::iota(blocks.begin(), blocks.end(), 0U);
    std::mt19937 random(order);
    std::shuffle(blocks.begin(), blocks.end(), random);
    try {
      Block::launch(blocks, static_cast<unsigned>(kernel_.num_threads), kernel_.shared_bytes,
                    [&] { kernel_.product(arguments_); });
      if (kernel_.is_split && arguments_.counters == nullptr)
        Block::launch({0, 1}, 256, 0, [&] { kernel_.sums(arguments_); });
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    if (std::ranges::any_of(counters_, [](unsigned counter) { return counter != 0; })) return "a counter is not zero";
    if (!c_.is_whole() || !a_.is_whole() || !b_.is_whole()) return "memory around an operand has changed";
    const std::vector<float> got = result();
    for (int row = 0; row < sizes_.m; ++row) {
      for (int column = 0; column < sizes_.n; ++column) {
        const double want = expected(row, column), is = got[static_cast<size_t>(row) * sizes_.n + column];
        if (!(std::abs(is - want) <= 1e-3 + (kernel_.out == DType::fp32 ? 0 : std::abs(want) / 200)))
          return "element " + std::to_string(row) + ", " + std::to_string(column) + " is " + std::to_string(is) +
                 ", expected " + std::to_string(want);
      }
    }
    return {};
  }

  std::vector<float> result() {
    std::vector<float> values(static_cast<size_t>(sizes_.m) * sizes_.n);
    to_float(kernel_.out, reinterpret_cast<const std::byte*>(c_.data()), values);
    return values;
  }

 private:
  static size_t bytes_of(DType type) { return type == DType::fp32 ? 4 : 2; }
  Guarded filled(std::vector<float>& values, int count) {
    values.resize(static_cast<size_t>(count));
    for (float& value : values)
      value = static_cast<float>(static_cast<int>(random_() % 17) - 8) / static_cast<float>(divisor_);
    Guarded memory(values.size() * bytes_of(kernel_.in), 0);
    from_float(kernel_.in, values, reinterpret_cast<std::byte*>(memory.data()));
    to_float(kernel_.in, reinterpret_cast<const std::byte*>(memory.data()), values);
    return memory;
  }
  Guarded packed_weights() {
    Guarded plain = filled(values_of_b_, sizes_.n * sizes_.k);
    const Layout layout{jit_cuda::kPackedLayout};
    const TensorSpec spec{.dtype = kernel_.in, .shape = {sizes_.n, sizes_.k}};
    Guarded packed(packed_bytes(layout, spec), 0);
    pack(layout, spec, {reinterpret_cast<const std::byte*>(plain.data()), spec.bytes()},
         {reinterpret_cast<std::byte*>(packed.data()), packed_bytes(layout, spec)});
    return packed;
  }
  double expected(int row, int column) const {
    double sum = values_of_bias_[static_cast<size_t>(column)];
    const auto k = static_cast<size_t>(sizes_.k);
    for (size_t i = 0; i < k; ++i)
      sum += double{values_of_a_[static_cast<size_t>(row) * k + i]} *
             double{values_of_b_[static_cast<size_t>(column) * k + i]};
    return sum;
  }

  const EmulatedKernel& kernel_;
  EmulatedSizes sizes_;
  std::mt19937 random_;
  int divisor_;
  std::vector<float> values_of_a_, values_of_b_, values_of_bias_;
  Guarded a_, b_, bias_, c_;
  std::vector<float> sums_;
  std::vector<unsigned> counters_;
  KernelArguments arguments_{};
  unsigned num_blocks_ = 0;
};

/// Sizes that leave a remainder in each tile and vector; `k` a multiple of 16 bytes where the kernel needs it.
void try_sizes(const EmulatedKernel& kernel, std::initializer_list<EmulatedSizes> all) {
  unsigned seed = 18;
  for (const EmulatedSizes& sizes : all) {
    for (const bool adds_in_block : {true, false}) {
      ++seed;
      EXPECT_EQ(EmulatedProduct(kernel, sizes, adds_in_block, seed).wrong(seed), "")
          << sizes.m << "x" << sizes.n << "x" << sizes.k << " in " << sizes.parts << " parts";
      if (!kernel.is_split) break;
    }
  }
}

constexpr size_t stream_bytes(int rows, int columns, int depth_warps) {
  return (static_cast<size_t>(rows) * columns * depth_warps + 1) * sizeof(float);
}

TEST(JitCudaEmulation, DotIsRightInPartsOfK) {
  try_sizes({.product = dot_bf16::dot_bf16_product,
             .sums = dot_bf16::dot_bf16_sums,
             .in = DType::bf16,
             .out = DType::bf16,
             .is_shifted = false,
             .is_split = true,
             .rows = 4,
             .columns = 4,
             .k_multiple = 256,
             .num_threads = dot_bf16::kThreads,
             .shared_bytes = stream_bytes(4, 4, 2)},
            {{1, 1, 8, 1, 1}, {3, 7, 520, 2, 1}, {5, 9, 776, 3, 1}});
}

TEST(JitCudaEmulation, DotOfFp32IsRightForRowsThatBeginAnywhere) {
  try_sizes({.product = dot_fp32_shifted::dot_fp32_product,
             .sums = dot_fp32_shifted::dot_fp32_sums,
             .in = DType::fp32,
             .out = DType::fp32,
             .is_shifted = true,
             .is_split = false,
             .rows = 2,
             .columns = 4,
             .k_multiple = 256,
             .num_threads = dot_fp32_shifted::kThreads,
             .shared_bytes = stream_bytes(2, 4, 4)},
            {{1, 1, 1, 1, 1}, {3, 5, 65, 1, 1}, {2, 6, 1027, 1, 1}});
}

TEST(JitCudaEmulation, StreamIsRightForRowsThatBeginAnywhere) {
  try_sizes({.product = stream_bf16_shifted::stream_bf16_product,
             .sums = stream_bf16_shifted::stream_bf16_sums,
             .in = DType::bf16,
             .out = DType::fp32,
             .is_shifted = true,
             .is_split = true,
             .rows = 16,
             .columns = 32,
             .k_multiple = 256,
             .num_threads = stream_bf16_shifted::kThreads,
             .shared_bytes = stream_bytes(16, 32, 2)},
            {{1, 1, 1, 1, 1}, {9, 37, 301, 2, 1}, {17, 33, 515, 2, 1}});
}

TEST(JitCudaEmulation, TilesAreRightInPartsOfK) {
  try_sizes({.product = tile_fp16::tile_fp16_product,
             .sums = tile_fp16::tile_fp16_sums,
             .in = DType::fp16,
             .out = DType::fp16,
             .is_shifted = false,
             .is_split = true,
             .rows = 32,
             .columns = 64,
             .k_multiple = 64,
             .num_threads = tile_fp16::kThreads,
             .shared_bytes = 3 * 96 * 128},
            {{1, 1, 8, 1, 1}, {33, 67, 72, 1, 1}, {40, 70, 200, 2, 8}});
}

/// Each fault is seen at every size, because the emulated threads run as far ahead as they may.
TEST(JitCudaEmulation, TilesAreWrongWithoutWaitsOrBarriersAndWithARace) {
  struct Fault {
    const char* name;
    void (*product)(KernelArguments);
    void (*sums)(KernelArguments);
  };
  for (const Fault& fault :
       {Fault{"no waits", tile_without_waits::tile_without_waits_product, tile_without_waits::tile_without_waits_sums},
        Fault{"no barriers", tile_without_barriers::tile_without_barriers_product,
              tile_without_barriers::tile_without_barriers_sums},
        Fault{"a race", tile_with_a_race::tile_with_a_race_product, tile_with_a_race::tile_with_a_race_sums}}) {
    const EmulatedKernel kernel = {.product = fault.product,
                                   .sums = fault.sums,
                                   .in = DType::fp16,
                                   .out = DType::fp16,
                                   .is_shifted = false,
                                   .is_split = true,
                                   .rows = 32,
                                   .columns = 64,
                                   .k_multiple = 64,
                                   .num_threads = tile_fp16::kThreads,
                                   .shared_bytes = 3 * 96 * 128};
    for (const EmulatedSizes& sizes : {EmulatedSizes{5, 67, 456, 3, 1}, EmulatedSizes{33, 64, 320, 3, 1}})
      EXPECT_NE(EmulatedProduct(kernel, sizes, true, 18).wrong(), "") << fault.name;
  }
}

TEST(JitCudaEmulation, TilesAreRightForRowsThatBeginAnywhere) {
  try_sizes({.product = tile_bf16_shifted::tile_bf16_product,
             .sums = tile_bf16_shifted::tile_bf16_sums,
             .in = DType::bf16,
             .out = DType::bf16,
             .is_shifted = true,
             .is_split = false,
             .rows = 32,
             .columns = 32,
             .k_multiple = 32,
             .num_threads = tile_bf16_shifted::kThreads,
             .shared_bytes = 2 * 64 * 64},
            {{1, 1, 1, 1, 1}, {33, 35, 99, 1, 8}, {70, 31, 127, 1, 2}});
}

TEST(JitCudaEmulation, DotOfPackedWeightsIsRight) {
  try_sizes({.product = dot_fp32_packed::dot_fp32_packed_product,
             .sums = dot_fp32_packed::dot_fp32_packed_sums,
             .in = DType::fp32,
             .out = DType::fp32,
             .is_shifted = true,
             .is_split = false,
             .rows = 2,
             .columns = 4,
             .k_multiple = 256,
             .num_threads = dot_fp32_packed::kThreads,
             .shared_bytes = stream_bytes(2, 4, 4),
             .is_packed = true},
            {{1, 1, 1, 1, 1}, {3, 13, 65, 1, 1}, {2, 6, 1027, 1, 1}});
}

TEST(JitCudaEmulation, StreamOfPackedWeightsIsRight) {
  try_sizes({.product = stream_fp16_packed::stream_fp16_packed_product,
             .sums = stream_fp16_packed::stream_fp16_packed_sums,
             .in = DType::fp16,
             .out = DType::fp16,
             .is_shifted = true,
             .is_split = true,
             .rows = 8,
             .columns = 32,
             .k_multiple = 256,
             .num_threads = stream_fp16_packed::kThreads,
             .shared_bytes = stream_bytes(8, 32, 2),
             .is_packed = true},
            {{1, 1, 1, 1, 1}, {9, 37, 301, 2, 1}, {7, 75, 515, 2, 1}});
}

TEST(JitCudaEmulation, TilesOfPackedWeightsAreRight) {
  try_sizes({.product = tile_bf16_packed::tile_bf16_packed_product,
             .sums = tile_bf16_packed::tile_bf16_packed_sums,
             .in = DType::bf16,
             .out = DType::fp32,
             .is_shifted = false,
             .is_split = true,
             .rows = 16,
             .columns = 64,
             .k_multiple = 64,
             .num_threads = tile_bf16_packed::kThreads,
             .shared_bytes = 3 * 80 * 128,
             .is_packed = true},
            {{1, 1, 8, 1, 1}, {33, 67, 72, 1, 1}, {17, 77, 296, 2, 8}});
}

TEST(JitCudaEmulation, TilesOfPackedWeightsAreRightForRowsThatBeginAnywhere) {
  try_sizes({.product = tile_packed_shifted::tile_packed_shifted_product,
             .sums = tile_packed_shifted::tile_packed_shifted_sums,
             .in = DType::bf16,
             .out = DType::bf16,
             .is_shifted = true,
             .is_split = false,
             .rows = 32,
             .columns = 32,
             .k_multiple = 32,
             .num_threads = tile_packed_shifted::kThreads,
             .shared_bytes = 2 * 64 * 64,
             .is_packed = true},
            {{1, 1, 1, 1, 1}, {33, 35, 99, 1, 8}, {70, 31, 127, 1, 2}});
}

/// A kernel of stream-K on tiles of 32×64.
EmulatedKernel shares_of(void (*product)(KernelArguments)) {
  return {.product = product,
          .sums = nullptr,
          .in = DType::fp16,
          .out = DType::fp32,
          .is_shifted = false,
          .is_split = false,
          .rows = 32,
          .columns = 64,
          .k_multiple = 64,
          .num_threads = shares_fp16::kThreads,
          .shared_bytes = 3 * 96 * 128,
          .has_shares = true};
}

/// Blocks with parts of two tiles, with whole tiles between, with a part of one tile alone, and with nothing.
TEST(JitCudaEmulation, SharesOfAllTilesAreRight) {
  try_sizes(shares_of(shares_fp16::shares_fp16_product), {{1, 1, 8, 1, 1},
                                                          {1, 1, 8, 3, 1},
                                                          {33, 67, 328, 1, 1},
                                                          {33, 67, 328, 3, 2},
                                                          {40, 130, 200, 4, 8},
                                                          {33, 67, 328, 24, 1},
                                                          {33, 67, 328, 31, 1},
                                                          {70, 131, 136, 7, 2},
                                                          {5, 67, 456, 5, 1}});
}

TEST(JitCudaEmulation, SharesOfPackedWeightsAreRightForRowsThatBeginAnywhere) {
  try_sizes({.product = shares_packed_shifted::shares_packed_shifted_product,
             .sums = nullptr,
             .in = DType::bf16,
             .out = DType::bf16,
             .is_shifted = true,
             .is_split = false,
             .rows = 32,
             .columns = 32,
             .k_multiple = 32,
             .num_threads = shares_packed_shifted::kThreads,
             .shared_bytes = 2 * 64 * 64,
             .is_packed = true,
             .has_shares = true},
            {{1, 1, 1, 1, 1}, {33, 35, 99, 3, 8}, {70, 31, 127, 5, 2}});
}

TEST(JitCudaEmulation, SharesAreAddedInOneOrderWhoeverIsLast) {
  const EmulatedKernel kernel = shares_of(shares_fp16::shares_fp16_product);
  const EmulatedSizes sizes = {33, 67, 712, 9, 1};
  const auto with_order = [&](unsigned seed) {
    EmulatedProduct product(kernel, sizes, true, 18, 7);
    EXPECT_EQ(product.wrong(seed), "");
    return product.result();
  };
  const std::vector<float> first = with_order(1);
  for (unsigned seed = 2; seed < 12; ++seed) EXPECT_EQ(with_order(seed), first) << seed;
}

/// Of tiles of three parts: of two, each would take itself for the last, and the second would be right.
TEST(JitCudaEmulation, SharesAreWrongWithoutBarriersAndWithARace) {
  for (const auto product :
       {shares_without_barriers::shares_without_barriers_product, shares_with_a_race::shares_with_a_race_product}) {
    for (const EmulatedSizes& sizes : {EmulatedSizes{5, 67, 456, 5, 1}, EmulatedSizes{33, 64, 320, 7, 1}})
      EXPECT_NE(EmulatedProduct(shares_of(product), sizes, true, 18).wrong(), "");
  }
}

TEST(JitCudaEmulation, SumsOfOtherBlocksNeedAFenceOfTheWriterAndOneOfTheReader) {
  const EmulatedKernel parts = {.product = tile_without_fences::tile_without_fences_product,
                                .sums = tile_without_fences::tile_without_fences_sums,
                                .in = DType::fp16,
                                .out = DType::fp16,
                                .is_shifted = false,
                                .is_split = true,
                                .rows = 32,
                                .columns = 64,
                                .k_multiple = 64,
                                .num_threads = tile_fp16::kThreads,
                                .shared_bytes = 3 * 96 * 128};
  const EmulatedSizes sizes = {5, 67, 456, 3, 1};
  EXPECT_EQ(EmulatedProduct(parts, sizes, true, 18).wrong(), "sums are announced before a fence");
  const auto without = shares_of(shares_without_fences::shares_without_fences_product);
  EXPECT_EQ(EmulatedProduct(without, sizes, true, 18).wrong(), "sums are announced before a fence");
  const auto of_writers = shares_of(shares_without_readers_fence::shares_without_readers_fence_product);
  EXPECT_EQ(EmulatedProduct(of_writers, sizes, true, 18).wrong(), "sums of other blocks are read before a fence");
}

}  // namespace
}  // namespace attune::emulated_gpu
