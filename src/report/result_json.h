// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "core/record.h"

namespace attune {

/// Returns the command that repeats a candidate's measurement: `attune bench "…" --solver … --config "…" --devices …`.
/// `device_flags`: of the device that measured it (device/devices.h).
std::string repeat_command(const Problem& problem, const Candidate& candidate, const std::string& device_flags);

/// Returns a Decision as a JSON object (one line): winner, baseline, times, ratio with interval, tied set, finalists,
/// errors.
std::string decision_json(const Decision& decision, const std::string& device_flags);

}  // namespace attune
