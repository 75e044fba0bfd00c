// SPDX-License-Identifier: MIT
#include "tuner/expected_cost.h"

#include <algorithm>

#include "attune/error.h"
#include "ops/op.h"

namespace attune {
namespace {

constexpr double kSetUpS = 1.5, kLaunches = 2000, kShortestLaunchS = 200e-6;
// Rates of a slow core, for devices without measured ones.
constexpr double kLeastGflops = 30, kLeastGbs = 10;
// A core of an AVX-512 server computes the reference, which sums in double, at 12 GFLOP/s.
constexpr double kReferenceGflops = 12, kReferences = 2;

double roofline_s(const Work& work, const Problem& problem, const DeviceInfo& device) {
  const auto peak = device.peak_gflops.find(problem.has("dtype") ? problem.text("dtype") : "fp32");
  const double gflops = peak != device.peak_gflops.end() ? peak->second : kLeastGflops;
  const double gbs = device.bandwidth_gbs > 0 ? device.bandwidth_gbs : kLeastGbs;
  return std::max(work.flops / gflops * 1e-9, work.bytes / gbs * 1e-9);
}

}  // namespace

double expected_cost_s(const Problem& problem, const DeviceInfo& device) {
  return kSetUpS + kLaunches * std::max(least_launch_s(problem, device), kShortestLaunchS);
}

double least_launch_s(const Problem& problem, const DeviceInfo& device) {
  try {
    return roofline_s(op_of(problem).work(problem), problem, device);
  } catch (const Error&) {
    return 0;  // open() will refuse it
  }
}

double least_first_admission_s(const Problem& problem, const DeviceInfo& device) {
  try {
    const Work work = op_of(problem).work(problem);
    const double cores = static_cast<double>(std::max<int64_t>(1, device.num_units));
    return kReferences * work.flops * 1e-9 / (kReferenceGflops * cores) +
           kAdmissionLaunches * roofline_s(work, problem, device);
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace attune
