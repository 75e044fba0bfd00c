// SPDX-License-Identifier: MIT
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/time_use.h"

namespace attune {

/// Returns where time went as a JSON object: `wall_s`, `busy_s` of the device, and both for each activity under its
/// name, in `activities`.
nlohmann::ordered_json time_json(const TimeUse& time);

/// How many devices a run has, and how many workers altogether.
struct WorkersOfRun {
  size_t num_devices = 1, num_workers = 1;
};

/// Returns a sentence such as `The device was busy for 71 % of 12.3 s: 34 % sampling, 20 % verifying, 46 % other`, in
/// which the shares are of the whole time of all workers, the largest four first. Empty if the device did nothing.
std::string time_sentence(const TimeUse& time, const WorkersOfRun& workers);

}  // namespace attune
