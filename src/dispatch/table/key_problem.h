// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "attune/gemm.h"
#include "attune/problem.h"
#include "dispatch/table/key_codes.h"

namespace attune {

/// Returns the problem of a typed call as read_shapes() would read it; nothing for an invalid data type.
std::optional<Problem> problem_of(const KeyCodes& codes, const GemmKey& key);
/// Like problem_of(), but for a problem to compute. Throws invalid_input for an invalid data type or a key with a
/// batch, bias or operand order that its op lacks.
Problem problem_to_compute(const KeyCodes& codes, const GemmKey& key);

}  // namespace attune
