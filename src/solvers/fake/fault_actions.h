// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "solvers/fake/faults.h"

namespace attune {

/// Whether a fault must happen now: `launch` counts the plan's launches, from 1. Creates the file of a `once:PATH`
/// fault, so that of all asking processes exactly one gets true. Throws io when the file cannot be created.
bool is_due(const PlantedFault& fault, uint64_t launch);

/// Performs the fault on the whole process; most faults never return. Not for faults with needs_launch(), which plant()
/// performs. A bomb without a limit on address space (RLIMIT_AS) returns at half of the machine's memory.
void perform(InjectedFault fault);

}  // namespace attune
