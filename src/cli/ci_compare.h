// SPDX-License-Identifier: MIT
#pragma once
#include "cli/command.h"

namespace attune {

/// Adds the flags of `attune ci compare`, which measures whether shapes became slower or faster between two tables.
void add_ci_compare_flags(CLI::App& command, Action& chosen);

}  // namespace attune
