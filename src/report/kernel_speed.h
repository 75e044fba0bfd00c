// SPDX-License-Identifier: MIT
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/device_info.h"
#include "core/record.h"
#include "ops/op.h"

namespace attune {

/// The speed that a kernel's time means on a device. 0: not known.
struct KernelSpeed {
  double tflops = 0, gbs = 0;  ///< By the problem's work: operations, and bytes that are read and written once.
  double of_roofline = 0;      ///< Share of the speed that the peak rate and the bandwidth allow; 0 without both.
  double clock = 0;            ///< Median of the samples', relative to the usual or highest one.
  double cycles = 0;           ///< Of a launch, at that clock.
};

/// `highest_ghz`: the rate of a relative clock of 1; 0: unknown. Requires: a measurement with a time.
KernelSpeed kernel_speed(const Measurement& measured, const Work& work, const DeviceInfo& device, double highest_ghz);

/// `1.25 TFLOP/s, 310 GB/s, 40 % of the roofline, clock 0.982, 17120 cycles, +340 against the first`, without unknown
/// parts. `first_cycles`: of the kernel that others are compared with; 0: this is the first.
std::string text(const KernelSpeed& speed, double first_cycles);
/// The same as members `tflops`, `gbs`, `of_roofline`, `clock`, `cycles` and `gap_cycles`.
void add_speed(nlohmann::ordered_json& object, const KernelSpeed& speed, double first_cycles);

}  // namespace attune
