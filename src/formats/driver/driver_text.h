// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "attune/problem.h"

namespace attune {

/// The command line of MIOpenDriver for a problem of `conv`: parse_driver_line() gives the problem back. All flags that
/// name the problem are stated, because importers differ in their defaults. Throws invalid_input for a type without an
/// operator.
std::string driver_line_of(const Problem& problem);

}  // namespace attune
