// SPDX-License-Identifier: MIT
#include "solvers/jit_cuda/kernel_registers.h"

#include <algorithm>

namespace attune::jit_cuda {
namespace {

/// Registers of a thread of such kernels.
struct Bound {
  Kernel kernel;
  int64_t rows, columns, unroll, registers;
  int64_t least_threads = 0;
  bool has_parts = false;  ///< Only where k has parts: the end of such a kernel needs more registers than its loop.
};
constexpr Bound kBounds[] = {{Kernel::dot, 1, 1, 4, 32},
                             {Kernel::dot, 1, 1, 8, 32},
                             {Kernel::dot, 1, 4, 1, 48},
                             {Kernel::dot, 2, 2, 4, 128},
                             {Kernel::dot, 2, 4, 2, 96},
                             {Kernel::dot, 2, 4, 4, 128},
                             {Kernel::dot, 4, 1, 2, 64},
                             {Kernel::dot, 4, 4, 1, 96},
                             {Kernel::dot, 4, 4, 2, 128},
                             {Kernel::dot, 4, 4, 4, 168},
                             {Kernel::dot, 8, 1, 1, 64},
                             {Kernel::dot, 8, 1, 4, 136},
                             {Kernel::dot, 8, 1, 8, 168},
                             {Kernel::dot, 8, 2, 1, 80},
                             {Kernel::stream, 16, 32, 2, 64, 512},
                             {Kernel::stream, 16, 32, 4, 128},
                             {Kernel::stream, 8, 32, 1, 64, 256, true},
                             {Kernel::stream, 8, 32, 2, 64, 256, true},
                             {Kernel::stream, 8, 32, 4, 64, 256, true},
                             {Kernel::stream, 8, 32, 8, 64, 256, true}};

}  // namespace

int64_t resident_blocks(const GemmShape& shape, const GemmConfig& config) noexcept {
  // Rows that begin anywhere, packed weights and fp32 need other numbers.
  if (has_shifted_rows(shape) || config.packed || shape.in == DType::fp32) return 0;
  const auto* const bound = std::ranges::find_if(kBounds, [&](const Bound& one) {
    return one.kernel == config.kernel && one.rows == config.rows && one.columns == config.columns &&
           one.unroll == config.unroll && config.num_threads() >= one.least_threads &&
           (config.split_k > 1 || !one.has_parts);
  });
  if (bound == std::end(kBounds)) return 0;
  return std::max<int64_t>(kRegistersOfUnit / (bound->registers * config.num_threads()), 1);
}

}  // namespace attune::jit_cuda
