// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

namespace attune {

/// Whether MIOpen has a solver of convolutions with this name, alone or fused. It ignores entries of other names. Names
/// of solvers that it has removed are not known.
bool is_miopen_solver(std::string_view name);

}  // namespace attune
