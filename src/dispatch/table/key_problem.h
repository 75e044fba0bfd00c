// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "attune/key.h"
#include "attune/problem.h"
#include "dispatch/table/key_codes.h"

namespace attune {

/// Returns the problem of a short key as read_shapes() would read it; nothing for a value that its attribute cannot
/// have: an unknown data type, a flag that is neither 0 nor 1, a text.
std::optional<Problem> problem_of(const KeyCodes& codes, const Key& key);
/// Like problem_of(), but for a problem to compute. Throws invalid_input, naming the attribute.
Problem problem_to_compute(const KeyCodes& codes, const Key& key);

}  // namespace attune
