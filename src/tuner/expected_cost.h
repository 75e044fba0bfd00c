// SPDX-License-Identifier: MIT
#pragma once
#include "attune/problem.h"
#include "core/device_info.h"

namespace attune {

/// Launches of an admission: three verify, one warms up, one is timed.
inline constexpr double kAdmissionLaunches = 5;

/// Rough time to tune one problem, in seconds, used to divide a budget: roofline time of a launch times the launches of
/// a contest with a few dozen candidates, plus the fixed cost of every problem (data, reference, fresh workers).
/// Accurate to a factor of three; never zero.
double expected_cost_s(const Problem& problem, const DeviceInfo& device);

/// Shortest time of one launch, in seconds: the roofline's.
double least_launch_s(const Problem& problem, const DeviceInfo& device);

/// Shortest time until the first candidate of a problem is admitted, in seconds: test data, the two references and the
/// launches of its verification. Later candidates do not need the references.
double least_first_admission_s(const Problem& problem, const DeviceInfo& device);

}  // namespace attune
