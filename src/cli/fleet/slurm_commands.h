// SPDX-License-Identifier: MIT
#pragma once
#include "cli/command.h"

namespace attune {

/// Adds `submit`, `status` and `drain` to `attune fleet`: agents under Slurm.
void add_slurm_commands(CLI::App& fleet, Action& chosen);

}  // namespace attune
