// SPDX-License-Identifier: MIT
#pragma once
#include "ops/op.h"
#include "ops/quantised_gemm/quantised_gemm.h"

namespace attune {

// A part of the result in double from the quantised inputs. The scale of an element's error bound is
// ‖a_row‖·‖b_row‖/√K of the rows with their scales. With scales of blocks it is the root of the sum of its squares over
// the blocks of K, each over its own length: a few blocks may outweigh all others.

/// Multiplies each element by its scale, then sums along K.
void naive_quantised_gemm(const QuantisedGemm& shape, const HostTensors& tensors, const ReferencePart& out);
/// Sums the stored numbers of each group with the blocked dot product of the fast GEMM, then applies the two scales.
void fast_quantised_gemm(const QuantisedGemm& shape, const HostTensors& tensors, const ReferencePart& out);

}  // namespace attune
