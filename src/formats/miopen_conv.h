// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "attune/problem.h"
#include "ops/conv/conv_shape.h"

namespace attune {

/// A convolution as MIOpen's databases state it, in the view of its driver: c and the input are the forward input's, k
/// the forward output's, in every direction.
struct MiopenConv {
  ConvDirection direction = ConvDirection::forward;
  bool is_3d = false;
  int64_t n = 1, c = 1, k = 1, bias = 0, groups = 1;
  Extents input{1, 1, 1}, filter{1, 1, 1}, pad{0, 0, 0}, stride{1, 1, 1}, dilation{1, 1, 1};
  std::string layout = "NCHW";  ///< Of all tensors, or `NCHW-NHWC-NCHW` where they differ.
  std::string dtype = "FP32";   ///< FP32, FP16, BF16, INT8, or another of MIOpen's.

  bool operator==(const MiopenConv&) const = default;
};

/// Why no problem of `conv` says the same: a bias, tensors that differ in layout, or another type. Empty: one does.
std::string why_no_problem(const MiopenConv& conv);
/// The problem, with the attributes in the op's order and without defaults, so that equal problems have equal keys; not
/// normalised. Requires: why_no_problem() is empty.
Problem problem_of(const MiopenConv& conv);
/// The reverse. Throws invalid_input for a problem that MIOpen's databases cannot name: a transposed convolution, which
/// they hold as the convolution that it is the gradient of, and 8-bit floats.
MiopenConv miopen_conv_of(const Problem& problem);

/// MIOpen's letter: F, B or W.
char letter_of(ConvDirection direction) noexcept;
/// The forward output's extents; 0 where the filter is larger than the padded input.
Extents output_of(const MiopenConv& conv) noexcept;

}  // namespace attune
