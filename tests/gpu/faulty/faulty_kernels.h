// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace attune::planted {

/// Operands of a product in fp32, rows of the activations times rows of the weights.
struct Product {
  const float *a = nullptr, *b = nullptr;
  float* c = nullptr;
  int64_t m = 0, n = 0, k = 0;
};

/// What planted_harm does.
enum class Harm : uint32_t {
  illegal_address,  ///< Writes where no memory is.
  misaligned,       ///< Reads 8 bytes at an odd address.
  endless,          ///< Never ends.
  trap,             ///< Stops by itself.
  stack,            ///< Calls itself until its stack is full.
  change,           ///< Changes one byte at `at`.
  reference,        ///< Finds the reference of the product in the 2 MiB around `at`, and changes its first value.
};

}  // namespace attune::planted
