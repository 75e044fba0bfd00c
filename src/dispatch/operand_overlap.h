// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>

#include "attune/problem.h"
#include "attune/tensor.h"

namespace attune {

enum class OperandRoles : uint8_t { all, without_weights };

/// Throws invalid_input, naming both, when the output shares a byte with an input: a kernel writes before it has read
/// all. The operands of a GEMM as Dispatcher::run() takes them, one for each role, of a key that was accepted; a few
/// ns.
void check_output(const GemmKey& key, std::span<void* const> operands, OperandRoles roles);
/// The same by the problem's tensors, one for each operand.
void check_output(std::span<const TensorSpec> tensors, std::span<void* const> operands);

}  // namespace attune
