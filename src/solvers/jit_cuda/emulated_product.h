// SPDX-License-Identifier: MIT
// For tests: a kernel on the emulated GPU at any sizes, held to a product computed on the host.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "attune/tensor.h"
#include "solvers/jit_cuda/emulated_block.h"
#include "solvers/jit_cuda/gemm_config.h"
#include "solvers/jit_cuda/kernel_arguments.h"
#include "tensor/convert.h"

namespace attune::emulated_gpu {

using jit_cuda::KernelArguments;

/// A kernel's functions, and what the solver knows of it.
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

/// A product whose operands end beside bytes that nobody may read or change, and the arguments of a kernel for it.
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
inline void try_sizes(const EmulatedKernel& kernel, std::initializer_list<EmulatedSizes> all) {
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

}  // namespace attune::emulated_gpu
