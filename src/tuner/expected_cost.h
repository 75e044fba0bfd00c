// SPDX-License-Identifier: MIT
#pragma once
#include "attune/problem.h"
#include "core/device_info.h"

namespace attune {

/// Rough time one problem takes to tune, in seconds: what a budget is shared by. Roofline time of a launch times the
/// launches a contest of a few dozen candidates spends, plus what every problem costs (data, reference). Good to a
/// factor of three; never zero.
double expected_cost_s(const Problem& problem, const DeviceInfo& device);

/// Least time of one launch, in seconds: the roofline's.
double least_launch_s(const Problem& problem, const DeviceInfo& device);

/// Least time until the first candidate of a problem is admitted, in seconds: test data, the two references and the
/// launches of its verification. Later candidates do without the references.
double least_first_admission_s(const Problem& problem, const DeviceInfo& device);

}  // namespace attune
