// SPDX-License-Identifier: MIT
#pragma once
#include "ops/conv/conv_shape.h"
#include "ops/op.h"

namespace attune {

// A part of the result in double. An element is the dot product of two rows of terms() numbers, in which what lies in
// the padding is zero. The scale of its error bound is the product of the rows' norms over √terms.

/// Sums the products of each element.
void naive_conv(const ConvShape& shape, const HostTensors& tensors, const ReferencePart& out);
/// Gathers blocks of rows (im2col) and multiplies them with the blocked dot product of the fast GEMM.
void fast_conv(const ConvShape& shape, const HostTensors& tensors, const ReferencePart& out);

}  // namespace attune
