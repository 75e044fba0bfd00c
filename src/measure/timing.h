// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>

#include "attune/plan.h"
#include "device/device.h"

namespace attune {

/// How long a sample of this device should last at least, so that reading its clock (20 ns on a host) and one interrupt
/// do not matter: the fact `least_sample_us`, or 200.
double least_sample_us(const DeviceInfo& device);

/// Launches that make a sample that long when one takes `first_us` (> 0); at most 4096.
uint32_t batch_for(double first_us, double least_us) noexcept;

/// Untimed launches before a batch: one, or as many as an eighth of the batch, 16 at most; they bring the candidate's
/// threads and code back after another's turn.
uint32_t untimed_for(uint32_t launches) noexcept;

/// Runs the launches back to back and returns the mean time of one in µs, by the stream's events 0 and 1. Throws what
/// the plan throws.
double time_launches(Stream& stream, const Plan& plan, std::span<const Launch> launches);

}  // namespace attune
