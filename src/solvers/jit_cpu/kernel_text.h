// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "attune/dtype.h"

namespace attune::jit_cpu {

/// Vector registers of an x86-64 level: what the generated C is written for.
struct VectorUnit {
  int lanes = 0;      ///< Floats in a register.
  int registers = 0;  ///< Architectural vector registers.
  std::string level;  ///< `x86-64-v4`: -march and the first part of a CompileTask's arch.
  /// Of a device's architecture (`x86-64-v4+bf16+amx`). Zero lanes below x86-64-v3: without FMA nothing here is fast.
  static VectorUnit of(const std::string& gfx);
  bool operator==(const VectorUnit&) const = default;
};

/// Floats along one panel, whatever the vector unit: the packed operand is [panel][k][kPanel].
inline constexpr int kPanel = 16;

/// The start of every generated file: the types `vf` (aligned) and `vu` (any address) of `lanes` floats, `in_t`,
/// `out_t`, and the functions widen() of one and load() of `lanes` elements of `in`, narrow() to one `out`, put()
/// of a vector and put_some() of its first lanes.
std::string preamble(const VectorUnit& unit, DType in, DType out);

/// `transpose(vf* v)`: a square of `lanes` vectors, in registers.
std::string transpose_text(int lanes);

/// A shuffle mask of `lanes` numbers: lanes whose bit `distance` is clear take `low(l)`, the others `high(l)`.
/// `blend`: own lanes of two vectors; `swap`: the lanes `distance` away.
std::string blend_mask(int lanes, int distance);
std::string swap_mask(int lanes, int distance);

}  // namespace attune::jit_cpu
