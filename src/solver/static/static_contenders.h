// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "core/candidate.h"
#include "core/device_info.h"
#include "solver/contender.h"
#include "solver/registry.h"

namespace attune {

/// Returns the reports of a registry's solvers for a problem on a device that need not be here, in the registry's order
/// and from the description of the device alone: nothing is opened or run. A solver that states its configs without a
/// device (Solver::static_space()) has support, version, space, default config and invariant space as on the device,
/// but no versions: compiler and builds are the device's. Any other that supports the problem is a contender without
/// support, for which is_known_on_device_only() holds. Requires: the problem is normalised. Throws nothing of Error: a
/// solver that fails is a contender without support, with the sentence.
std::vector<Contender> static_contenders(const Registry& registry, const Problem& problem, const DeviceInfo& device);
/// The same of one solver.
Contender static_contender(const Solver& solver, const Problem& problem, const DeviceInfo& device);

/// Whether a static contender is a library that supports the problem: which configs it has, the device alone tells.
bool is_known_on_device_only(const Contender& contender) noexcept;

/// Why static contenders cannot tell whether a candidate runs on the device: its solver is a library, or is not
/// available in this program. Nothing: why_unusable() tells.
std::optional<std::string> why_unknown(const Candidate& candidate, std::span<const Contender> contenders);

}  // namespace attune
