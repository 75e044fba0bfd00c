// SPDX-License-Identifier: MIT
// The kernels' own texts on the emulated GPU: each element of C at odd sizes, nothing outside C, any order of blocks.
#include <gtest/gtest.h>

#include <vector>

#include "solvers/jit_cuda/emulated_gpu.h"
#include "solvers/jit_cuda/emulated_product.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"  // Each kernel uses some of rows.cu.

// Each space has the constants of a config, as kernel_text.cpp writes them, and the texts behind them. The texts'
// functions have C names, so those of a space begin with its name.
#define ATTUNE_JOIN_NAMES(first, second) first##second
#define ATTUNE_JOIN(first, second) ATTUNE_JOIN_NAMES(first, second)
#define attune_product ATTUNE_JOIN(ATTUNE_KERNEL, _product)
#define attune_sum_parts ATTUNE_JOIN(ATTUNE_KERNEL, _sums)

#define ATTUNE_KERNEL dot_bf16
#define ATTUNE_LOOP "solvers/jit_cuda/kernels/dot_loop.cu"
#define ATTUNE_HAS_PARTS 1
#define ATTUNE_HAS_SHARES 0
#define ATTUNE_HAS_TILES 0
namespace attune::emulated_gpu::ATTUNE_KERNEL {
constexpr int kIn = 1, kOut = 1, kRows = 4, kColumns = 2, kWarps = 2, kDepthWarps = 2, kUnroll = 2;
constexpr bool kIsShifted = false, kIsPacked = false, kIsSplit = true;
#include "solvers/jit_cuda/emulated_texts.inc"
}  // namespace attune::emulated_gpu::ATTUNE_KERNEL

#define ATTUNE_KERNEL dot_fp32_shifted
#define ATTUNE_LOOP "solvers/jit_cuda/kernels/dot_loop.cu"
#define ATTUNE_HAS_PARTS 0
#define ATTUNE_HAS_SHARES 0
#define ATTUNE_HAS_TILES 0
namespace attune::emulated_gpu::ATTUNE_KERNEL {
constexpr int kIn = 0, kOut = 0, kRows = 2, kColumns = 4, kWarps = 1, kDepthWarps = 4, kUnroll = 1;
constexpr bool kIsShifted = true, kIsPacked = false, kIsSplit = false;
#include "solvers/jit_cuda/emulated_texts.inc"
}  // namespace attune::emulated_gpu::ATTUNE_KERNEL

#define ATTUNE_KERNEL stream_bf16_shifted
#define ATTUNE_LOOP "solvers/jit_cuda/kernels/stream_loop.cu"
#define ATTUNE_HAS_PARTS 1
#define ATTUNE_HAS_SHARES 0
#define ATTUNE_HAS_TILES 0
namespace attune::emulated_gpu::ATTUNE_KERNEL {
constexpr int kIn = 1, kOut = 0, kRows = 16, kColumns = 16, kWarps = 2, kDepthWarps = 2, kUnroll = 2;
constexpr bool kIsShifted = true, kIsPacked = false, kIsSplit = true;
#include "solvers/jit_cuda/emulated_texts.inc"
}  // namespace attune::emulated_gpu::ATTUNE_KERNEL

#define ATTUNE_KERNEL tile_fp16
#define ATTUNE_HAS_SHARES 0
#include "solvers/jit_cuda/emulated_tile.inc"

#define ATTUNE_KERNEL tile_bf16_shifted
#define ATTUNE_LOOP "solvers/jit_cuda/kernels/tile_moves.cu"
#define ATTUNE_HAS_PARTS 0
#define ATTUNE_HAS_SHARES 0
#define ATTUNE_HAS_TILES 1
namespace attune::emulated_gpu::ATTUNE_KERNEL {
constexpr int kIn = 1, kOut = 1, kBlockM = 32, kBlockN = 32, kBlockK = 32, kStages = 2, kWarpsM = 2, kWarpsN = 1;
constexpr bool kIsShifted = true, kIsPacked = false, kIsSplit = false;
#include "solvers/jit_cuda/emulated_texts.inc"
}  // namespace attune::emulated_gpu::ATTUNE_KERNEL

#define ATTUNE_KERNEL dot_fp32_packed
#define ATTUNE_LOOP "solvers/jit_cuda/kernels/dot_loop.cu"
#define ATTUNE_HAS_PARTS 0
#define ATTUNE_HAS_SHARES 0
#define ATTUNE_HAS_TILES 0
namespace attune::emulated_gpu::ATTUNE_KERNEL {
constexpr int kIn = 0, kOut = 0, kRows = 2, kColumns = 4, kWarps = 1, kDepthWarps = 4, kUnroll = 1;
constexpr bool kIsShifted = true, kIsPacked = true, kIsSplit = false;
#include "solvers/jit_cuda/emulated_texts.inc"
}  // namespace attune::emulated_gpu::ATTUNE_KERNEL

#define ATTUNE_KERNEL stream_fp16_packed
#define ATTUNE_LOOP "solvers/jit_cuda/kernels/stream_loop.cu"
#define ATTUNE_HAS_PARTS 1
#define ATTUNE_HAS_SHARES 0
#define ATTUNE_HAS_TILES 0
namespace attune::emulated_gpu::ATTUNE_KERNEL {
constexpr int kIn = 2, kOut = 2, kRows = 8, kColumns = 32, kWarps = 1, kDepthWarps = 2, kUnroll = 4;
constexpr bool kIsShifted = true, kIsPacked = true, kIsSplit = true;
#include "solvers/jit_cuda/emulated_texts.inc"
}  // namespace attune::emulated_gpu::ATTUNE_KERNEL

#define ATTUNE_KERNEL tile_bf16_packed
#define ATTUNE_LOOP "solvers/jit_cuda/kernels/tile_copies.cu"
#define ATTUNE_HAS_PARTS 1
#define ATTUNE_HAS_SHARES 0
#define ATTUNE_HAS_TILES 1
namespace attune::emulated_gpu::ATTUNE_KERNEL {
constexpr int kIn = 1, kOut = 0, kBlockM = 16, kBlockN = 64, kBlockK = 64, kStages = 3, kWarpsM = 1, kWarpsN = 2;
constexpr bool kIsShifted = false, kIsPacked = true, kIsSplit = true;
#include "solvers/jit_cuda/emulated_texts.inc"
}  // namespace attune::emulated_gpu::ATTUNE_KERNEL

#define ATTUNE_KERNEL tile_packed_shifted
#define ATTUNE_LOOP "solvers/jit_cuda/kernels/tile_moves.cu"
#define ATTUNE_HAS_PARTS 0
#define ATTUNE_HAS_SHARES 0
#define ATTUNE_HAS_TILES 1
namespace attune::emulated_gpu::ATTUNE_KERNEL {
constexpr int kIn = 1, kOut = 1, kBlockM = 32, kBlockN = 32, kBlockK = 32, kStages = 2, kWarpsM = 2, kWarpsN = 1;
constexpr bool kIsShifted = true, kIsPacked = true, kIsSplit = false;
#include "solvers/jit_cuda/emulated_texts.inc"
}  // namespace attune::emulated_gpu::ATTUNE_KERNEL

#define ATTUNE_KERNEL shares_fp16
#define ATTUNE_HAS_SHARES 1
#include "solvers/jit_cuda/emulated_tile.inc"

#define ATTUNE_KERNEL shares_packed_shifted
#define ATTUNE_LOOP "solvers/jit_cuda/kernels/tile_moves.cu"
#define ATTUNE_HAS_PARTS 0
#define ATTUNE_HAS_SHARES 1
#define ATTUNE_HAS_TILES 1
namespace attune::emulated_gpu::ATTUNE_KERNEL {
constexpr int kIn = 1, kOut = 1, kBlockM = 32, kBlockN = 32, kBlockK = 32, kStages = 2, kWarpsM = 2, kWarpsN = 1;
constexpr bool kIsShifted = true, kIsPacked = true, kIsSplit = false;
#include "solvers/jit_cuda/emulated_texts.inc"
}  // namespace attune::emulated_gpu::ATTUNE_KERNEL

// What the emulated GPU must find out: texts that leave out what orders a GPU's threads.
namespace attune::emulated_gpu {
template <int kLeft>
void no_wait() {}
}  // namespace attune::emulated_gpu
#define copies_done no_wait
#define ATTUNE_KERNEL tile_without_waits
#define ATTUNE_HAS_SHARES 0
#include "solvers/jit_cuda/emulated_tile.inc"
#undef copies_done

#undef __syncthreads
#define __syncthreads()
#define ATTUNE_KERNEL tile_without_barriers
#define ATTUNE_HAS_SHARES 0
#include "solvers/jit_cuda/emulated_tile.inc"
#undef __syncthreads
#define __syncthreads synchronize_block

#undef atomicAdd
// The last but one takes itself for the last.
#define atomicAdd(counter, more) (add_once(counter, more) + 1)
#define ATTUNE_KERNEL tile_with_a_race
#define ATTUNE_HAS_SHARES 0
#include "solvers/jit_cuda/emulated_tile.inc"
#undef atomicAdd
#define atomicAdd add_once

#undef __threadfence
#define __threadfence()
#define ATTUNE_KERNEL shares_without_fences
#define ATTUNE_HAS_SHARES 1
#include "solvers/jit_cuda/emulated_tile.inc"
#undef __threadfence
#define __threadfence fence

#undef __threadfence
#define __threadfence() (Block::current().has_unfenced_stores() ? fence() : void())
#define ATTUNE_KERNEL shares_without_readers_fence
#define ATTUNE_HAS_SHARES 1
#include "solvers/jit_cuda/emulated_tile.inc"
#undef __threadfence
#define __threadfence fence

#undef atomicAdd
// The last but one takes itself for the last.
#define atomicAdd(counter, more) (add_once(counter, more) + 1)
#define ATTUNE_KERNEL shares_with_a_race
#define ATTUNE_HAS_SHARES 1
#include "solvers/jit_cuda/emulated_tile.inc"
#undef atomicAdd
#define atomicAdd add_once

#undef __syncthreads
#define __syncthreads()
#define ATTUNE_KERNEL shares_without_barriers
#define ATTUNE_HAS_SHARES 1
#include "solvers/jit_cuda/emulated_tile.inc"
#undef __syncthreads
#define __syncthreads synchronize_block

#undef __threadfence
#define __threadfence()
#define ATTUNE_KERNEL tile_without_fences
#define ATTUNE_HAS_SHARES 0
#include "solvers/jit_cuda/emulated_tile.inc"
#undef __threadfence
#define __threadfence fence

#pragma GCC diagnostic pop
#undef ATTUNE_UNROLL
#undef ATTUNE_ROLL
#undef ATTUNE_UNROLL_TIMES
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
#undef __fmaf_rn
#undef __ldcg
#undef __stcg
#undef atomicAdd
#undef attune_product
#undef attune_sum_parts
#undef ATTUNE_JOIN
#undef ATTUNE_JOIN_NAMES

namespace attune::emulated_gpu {
namespace {

/// A kernel of tiles of 32×64 in parts of k.
EmulatedKernel tile_of(void (*product)(KernelArguments), void (*sums)(KernelArguments)) {
  return {.product = product,
          .sums = sums,
          .in = DType::fp16,
          .out = DType::fp16,
          .is_shifted = false,
          .is_split = true,
          .rows = 32,
          .columns = 64,
          .k_multiple = 64,
          .num_threads = tile_fp16::kThreads,
          .shared_bytes = 3 * 96 * 128};
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
  try_sizes({.product = dot_fp32_shifted::dot_fp32_shifted_product,
             .sums = nullptr,
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
  try_sizes({.product = stream_bf16_shifted::stream_bf16_shifted_product,
             .sums = stream_bf16_shifted::stream_bf16_shifted_sums,
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
  try_sizes(tile_of(tile_fp16::tile_fp16_product, tile_fp16::tile_fp16_sums),
            {{1, 1, 8, 1, 1}, {33, 67, 72, 1, 1}, {40, 70, 200, 2, 8}});
}

/// Each fault is seen at every size, because the emulated threads run as far ahead as they may.
TEST(JitCudaEmulation, TilesAreWrongWithoutWaitsOrBarriersAndWithARace) {
  struct Fault {
    const char* name;
    EmulatedKernel kernel;
  };
  for (const auto& [name, kernel] : {Fault{"no waits", tile_of(tile_without_waits::tile_without_waits_product,
                                                               tile_without_waits::tile_without_waits_sums)},
                                     Fault{"no barriers", tile_of(tile_without_barriers::tile_without_barriers_product,
                                                                  tile_without_barriers::tile_without_barriers_sums)},
                                     Fault{"a race", tile_of(tile_with_a_race::tile_with_a_race_product,
                                                             tile_with_a_race::tile_with_a_race_sums)}}) {
    for (const EmulatedSizes& sizes : {EmulatedSizes{5, 67, 456, 3, 1}, EmulatedSizes{33, 64, 320, 3, 1}})
      EXPECT_NE(EmulatedProduct(kernel, sizes, true, 18).wrong(), "") << name;
  }
}

TEST(JitCudaEmulation, TilesAreRightForRowsThatBeginAnywhere) {
  try_sizes({.product = tile_bf16_shifted::tile_bf16_shifted_product,
             .sums = nullptr,
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
             .sums = nullptr,
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
             .sums = nullptr,
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
  const EmulatedKernel parts =
      tile_of(tile_without_fences::tile_without_fences_product, tile_without_fences::tile_without_fences_sums);
  const EmulatedSizes sizes = {5, 67, 456, 3, 1};
  EXPECT_EQ(EmulatedProduct(parts, sizes, true, 18).wrong(), "sums are announced before a fence");
  const auto without = shares_of(shares_without_fences::shares_without_fences_product);
  EXPECT_EQ(EmulatedProduct(without, sizes, true, 18).wrong(), "sums are announced before a fence");
  const auto of_writers = shares_of(shares_without_readers_fence::shares_without_readers_fence_product);
  EXPECT_EQ(EmulatedProduct(of_writers, sizes, true, 18).wrong(), "sums of other blocks are read before a fence");
}

}  // namespace
}  // namespace attune::emulated_gpu
