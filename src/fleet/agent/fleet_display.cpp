// SPDX-License-Identifier: MIT
#include "fleet/agent/fleet_display.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "report/result_table.h"

namespace attune {
namespace {

std::string shape_of(const ClaimedJob& job) {
  try {
    return short_shape(Problem::parse(job.problem));
  } catch (const Error&) {
    return job.problem;
  }
}

std::string result_of(const JobOutcome& outcome) {
  if (outcome.status != Status::ok)
    return std::string(name(outcome.status)) + (outcome.detail.empty() ? "" : ": " + outcome.detail);
  if (outcome.decision) {
    const Decision& decision = *outcome.decision;
    return fmt::format("{} {:.1f} µs, {}", short_candidate(decision.winner), decision.comparison.us,
                       verdict_text(decision));
  }
  if (outcome.short_list.empty()) return "done";
  return fmt::format("{}, best {:.1f} µs", counted(outcome.short_list.size(), "candidate"),
                     outcome.short_list.front().us);
}

}  // namespace

std::string job_line(const EndedJob& job) {
  return fmt::format("{:<12} {:<16} {}  {}", name(job.job.step), job.job.solver.empty() ? "all" : job.job.solver,
                     shape_of(job.job), result_of(job.outcome));
}

FleetDisplay::FleetDisplay(bool json, std::function<void()> on_tick,
                           std::function<void(const std::string&)> on_device_lost)
    : json_(json),
      on_tick_(std::move(on_tick)),
      on_device_lost_(std::move(on_device_lost)),
      tracker_({}, {}),
      line_([this] { return now(); }) {}

ProgressLine FleetDisplay::now() {
  const Lock lock(mutex_);
  const size_t num_all = std::max(num_all_, num_ended_);
  std::string counts = counted_of(num_ended_, num_all, "job") + " done";
  if (num_failed_ > 0) counts += fmt::format(", {} failed", num_failed_);
  return {num_ended_, num_all, std::move(counts), kernels_.empty() ? tracker_.now().doing : kernels_, ""};
}

void FleetDisplay::ended(const EndedJob& job) {
  {
    const Lock lock(mutex_);
    ++num_ended_;
    if (job.outcome.status != Status::ok && job.outcome.status != Status::unsupported) ++num_failed_;
    if (job.outcome.decision && job.outcome.decision->noisy) ++num_noisy_;
  }
  if (!json_) line_.print_line(job_line(job), true);
}

std::string FleetDisplay::noise_notice() {
  const Lock lock(mutex_);
  if (num_noisy_ == 0) return {};
  return fmt::format("other programs disturbed the samples of {}, whose winners had to be at least {:g} % faster",
                     counted(num_noisy_, "contest"), 100 * ConfirmOptions().noisy_gain);
}

void FleetDisplay::compiling_kernels(size_t num_kernels) {
  kernels_ = fmt::format("compiling {}", counted(num_kernels, "kernel"));
  line_.update();
}

void FleetDisplay::progress(const Problem& problem, Phase phase, size_t num_alive) {
  kernels_.clear();
  tracker_.progress(problem, phase, num_alive);
  line_.update();
}

void FleetDisplay::compiling(const Problem& problem, size_t num_candidates) {
  tracker_.compiling(problem, num_candidates);
  line_.update();
}

void FleetDisplay::tick() {
  if (on_tick_) on_tick_();
  line_.update();
}

void FleetDisplay::device_lost(const DeviceInfo& device, const std::string& why) {
  say(fmt::format("{} was lost, the other devices go on: {}", device.id, why));
  if (on_device_lost_) on_device_lost_(why.find(device.id) == std::string::npos ? device.id + ": " + why : why);
}

void FleetDisplay::worker_lost(const DeviceInfo& device, const std::string& why) {
  say(fmt::format("a worker of {} was lost, the others go on: {}", device.id, why));
}

}  // namespace attune
