// SPDX-License-Identifier: MIT
#include "tuner/problem/cost_forecast.h"

#include <algorithm>

#include "attune/error.h"
#include "ops/op.h"

namespace attune {
namespace {

// Launches of an admission: three verify, one warms up, one is timed.
constexpr double kAdmissionLaunches = 5;
constexpr double kSetUpS = 1.5, kLaunches = 2000, kShortestLaunchS = 200e-6;
constexpr double kSlowDefault = 10;  // Times the roofline.
// Rates of a slow core, for devices without measured ones.
constexpr double kMinGflops = 30, kMinGbs = 10;
// A core of an AVX-512 server computes the reference, which sums in double, at 12 GFLOP/s.
constexpr double kReferenceGflops = 12, kReferences = 2;

/// Peak of the work's arithmetic. Without one, the peak of fp32, to which every kernel can widen its operands. So a
/// budget is not divided as if the device were a slow core.
double gflops_of(const Work& work, const DeviceInfo& device) {
  const auto own = device.peak_of(work.arithmetic), widened = device.peak_of(DType::fp32);
  return own ? *own : widened.value_or(kMinGflops);
}

double roofline_s(const Work& work, const DeviceInfo& device) {
  const double gflops = gflops_of(work, device);
  const double gbs = device.bandwidth_gbs > 0 ? device.bandwidth_gbs : kMinGbs;
  return std::max(work.flops / gflops * 1e-9, work.bytes / gbs * 1e-9);
}

}  // namespace

double expected_cost_s(const Problem& problem, const DeviceInfo& device) {
  return kSetUpS + kLaunches * std::max(min_launch_s(problem, device), kShortestLaunchS);
}

double min_launch_s(const Problem& problem, const DeviceInfo& device) {
  try {
    return roofline_s(op_of(problem).work(problem), device);
  } catch (const Error&) {
    return 0;  // open() will refuse it
  }
}

double min_first_admission_s(const Problem& problem, const DeviceInfo& device) {
  try {
    const Work work = op_of(problem).work(problem);
    const double cores = static_cast<double>(std::max<int64_t>(1, device.num_units));
    return kReferences * work.flops * 1e-9 / (kReferenceGflops * cores) + kAdmissionLaunches * roofline_s(work, device);
  } catch (const Error&) {
    return 0;
  }
}

CostForecast::CostForecast(const Problem& problem, const DeviceInfo& device)
    : first_admission_s_(min_first_admission_s(problem, device)),
      whole_s_(expected_cost_s(problem, device)),
      min_launch_s_(min_launch_s(problem, device)),
      best_launch_s_(kSlowDefault * min_launch_s_) {}

double CostForecast::admission_s() const noexcept {
  if (num_admitted_ == 0) return first_admission_s_;
  return num_admitted_ > 1 ? admissions_s_ / static_cast<double>(num_admitted_ - 1)
                           : kAdmissionLaunches * min_launch_s_;
}

double CostForecast::launch_s(Slot slot) const {
  const auto own = launch_s_.find(slot);
  return own != launch_s_.end() ? own->second : any_launch_s();
}

/// The launch time of the first candidate, a default config; an estimate for all others.
double CostForecast::any_launch_s() const {
  if (!launch_s_.empty()) return launch_s_.begin()->second;
  // Comparing a result takes about as long as a launch.
  return num_admitted_ > 1 ? std::max(min_launch_s_, admission_s() / (2 * kAdmissionLaunches)) : min_launch_s_;
}

double CostForecast::decision_s() const {
  constexpr double kMinLaunches = 42;  // 21 published samples, each with an untimed launch before it
  return kMinLaunches * any_launch_s();
}

double CostForecast::turns_s(std::span<const Turn> turns) const {
  double sum_s = 0;
  for (const Turn& turn : turns) sum_s += (turn.launches + 1) * launch_s(turn.slot);  // at least one launch is untimed
  return sum_s;
}

void CostForecast::admitted(double seconds) {
  if (num_admitted_++ > 0) admissions_s_ += seconds;
}

void CostForecast::sampled(std::span<const Turn> turns, std::span<const Sample> samples) {
  for (size_t i = 0; i < turns.size(); ++i) {
    const double seconds = samples[i].us * 1e-6;
    launch_s_[turns[i].slot] = seconds;
    best_launch_s_ = std::min(best_launch_s_, seconds);
  }
}

}  // namespace attune
