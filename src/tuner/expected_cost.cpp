// SPDX-License-Identifier: MIT
#include "tuner/expected_cost.h"

#include <algorithm>

#include "attune/error.h"
#include "ops/op.h"

namespace attune {
namespace {
constexpr double kSetUpS = 0.4, kLaunches = 2000, kLeastLaunchS = 200e-6;
// Where nothing was measured: a slow core's.
constexpr double kLeastGflops = 30, kLeastGbs = 10;
}  // namespace

double expected_cost_s(const Problem& problem, const DeviceInfo& device) {
  try {
    const Work work = op_of(problem).work(problem);
    const auto peak = device.peak_gflops.find(problem.has("dtype") ? problem.text("dtype") : "fp32");
    const double gflops = peak != device.peak_gflops.end() ? peak->second : kLeastGflops;
    const double gbs = device.bandwidth_gbs > 0 ? device.bandwidth_gbs : kLeastGbs;
    const double launch_s = std::max({work.flops / gflops * 1e-9, work.bytes / gbs * 1e-9, kLeastLaunchS});
    return kSetUpS + kLaunches * launch_s;
  } catch (const Error&) {
    return kSetUpS;  // It will be refused when it is opened.
  }
}

}  // namespace attune
