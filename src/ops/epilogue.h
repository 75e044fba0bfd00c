// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace attune {

/// The function at the end of a product. Keys hold the numbers, which are the places in kActivations: new ones are
/// added at the end.
enum class Activation : uint8_t {
  none,
  relu,       ///< max(x, 0)
  gelu,       ///< x/2 · (1 + erf(x/√2))
  gelu_tanh,  ///< x/2 · (1 + tanh(√(2/π) · (x + 0.044715·x³))), the approximation of gelu that many models state
  silu        ///< x / (1 + e^−x), also called swish
};
inline constexpr std::array<std::string_view, 5> kActivations = {"none", "relu", "gelu", "gelu_tanh", "silu"};

/// The part of a factor that a kernel must know before it is called: whether it is 0 (the term is never read), 1, or
/// any number, which is an operand of the call. Keys hold the numbers, which are the places in kFactors.
enum class Factor : uint8_t { zero, one, any };
inline constexpr std::array<std::string_view, 3> kFactors = {"0", "1", "any"};

}  // namespace attune
