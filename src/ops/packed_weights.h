// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "attune/problem.h"

namespace attune {

/// True if the weights of a problem are prepacked, once for all its rows, as its family says.
bool has_packed_weights(const Problem& problem);
/// Name of a problem's weight group: its key without the attribute that a served model varies (FamilySpec::rows).
std::string weight_group_of(const Problem& problem);

}  // namespace attune
