// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>

#include "attune/gemm.h"
#include "attune/problem.h"
#include "attune/tensor.h"

namespace attune {

enum class OperandRoles : uint8_t { all, without_weights };

/// Throws invalid_input, naming both operands, when the output shares a byte with an input, because a kernel writes
/// before it has read everything. `operands` are those of Dispatcher::run(), one for each role, of an accepted key.
/// Takes a few ns.
void check_output(const GemmKey& key, std::span<void* const> operands, OperandRoles roles);
/// Like above, but with one operand for each of the problem's tensors.
void check_output(std::span<const TensorSpec> tensors, std::span<void* const> operands);

}  // namespace attune
