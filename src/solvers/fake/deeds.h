// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "solvers/fake/faults.h"

namespace attune {

/// Whether a fault is to be done now: `launch` counts those of the plan, from 1. Makes the file of a fault of the
/// moment, so that of all processes that ask one gets a yes. Throws io when the file cannot be made.
bool is_due(const PlantedFault& fault, uint64_t launch);

/// Does it, to the whole process; most faults never return. Not for those that needs_launch() (plant() does these).
/// A bomb without a limit of address space (RLIMIT_AS) returns at half of the machine's memory.
void commit(Fault fault);

}  // namespace attune
