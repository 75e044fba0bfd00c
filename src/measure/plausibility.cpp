// SPDX-License-Identifier: MIT
#include "measure/plausibility.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace attune {
namespace {

// Share of the roofline: a measured bandwidth is accurate to about 10 %, and L2 hits help more.
constexpr double kFloorShare = 0.6;

}  // namespace

double roofline_floor_us(const Work& work, uint64_t working_set_bytes, Device& device, Reading reading) {
  const auto peak_gflops = device.info().peak_of(work.arithmetic);
  const double flops_us = peak_gflops ? work.flops / (*peak_gflops * 1e3) : 0;
  const double bandwidth = device.bandwidth_gbs(working_set_bytes, reading);
  const double bytes_us = bandwidth > 0 ? work.bytes / (bandwidth * 1e3) : 0;
  return kFloorShare * std::max(flops_us, bytes_us);
}

std::string implausible(double us, double floor_us) {
  if (!std::isfinite(us)) return "the measured time is not a number";
  if (us <= 0) return fmt::format("the measured time is not positive: {} us", us);
  if (us < floor_us)
    return fmt::format("the device cannot do the work in the measured time: {:.3g} us, at least {:.3g} us are needed",
                       us, floor_us);
  return {};
}

}  // namespace attune
