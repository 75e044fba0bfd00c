// SPDX-License-Identifier: MIT
#pragma once
#include "attune/requirement.h"

namespace attune {

/// What kernels in this process must keep: ATTUNE_REQUIRE, else nothing. Reads the environment. Throws invalid_input
/// for another word: any default would do less than was meant.
Requirement requirement_wanted();

/// Largest bound of a prediction that is used under a requirement, where `share` is the one that was asked for. A
/// batch-invariant weight is served by the kernel of its rows whatever M is: another one would change the results.
double regret_under(Requirement required, double share) noexcept;

}  // namespace attune
