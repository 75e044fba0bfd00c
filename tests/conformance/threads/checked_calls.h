// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "solver/solver.h"

namespace attune {

/// One call of a kernel over a poisoned output. Returns the number of wrong elements.
using CheckedCall = std::function<uint64_t()>;

/// Threads that plans are asked for: more than the test's machine may have, so that a team can lose some and keep some.
inline constexpr int64_t kTeam = 3;

/// Whether the solver computes any of the problems that are called.
bool supports_any(const Solver& solver, const DeviceInfo& device);

/// Calls of a solver's plans, with several configs of several problems each, for teams of up to kTeam threads. Opens
/// the solver at once and keeps all it makes for the life of the process. Throws unavailable where the solver is.
std::vector<CheckedCall> plan_calls(const std::string& solver);

/// Calls of a Dispatcher without tables, and of one with a row of each solver, with plain and packed weights.
std::vector<CheckedCall> served_calls();

}  // namespace attune
