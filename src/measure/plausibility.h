// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>

#include "device/device.h"
#include "ops/op.h"

namespace attune {

/// Lower bound in µs for the time of any kernel that does the work: 0.6 × the larger of flops at the device's peak rate
/// for the work's arithmetic and bytes at the bandwidth measured for this working set. Without a stated peak the bytes
/// alone bound it: a right kernel must never be implausible. May measure that bandwidth (150 ms, with threads).
double roofline_floor_us(const Work& work, uint64_t working_set_bytes, Device& device,
                         Reading reading = Reading::remembered);

/// Reason why a time cannot be right (zero, negative, not finite, below the floor); empty if it is plausible.
std::string implausible(double us, double floor_us);

}  // namespace attune
