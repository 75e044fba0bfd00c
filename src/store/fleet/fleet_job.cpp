// SPDX-License-Identifier: MIT
#include "store/fleet/fleet_job.h"

#include <algorithm>
#include <array>

namespace attune {
namespace {

constexpr std::array<std::string_view, 5> kStepNames = {"perf_compile", "perf_eval", "perf_contest", "find_compile",
                                                        "find_eval"};
constexpr std::array<std::string_view, 5> kJobStateNames = {"queued", "leased", "done", "failed", "excluded"};

template <typename Value, size_t n>
std::optional<Value> value_of(const std::array<std::string_view, n>& names, std::string_view text) noexcept {
  const auto* const found = std::ranges::find(names, text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Value>(found - names.begin());
}

}  // namespace

std::string_view name(FleetStep step) noexcept { return kStepNames.at(static_cast<size_t>(step)); }

std::optional<FleetStep> parse_fleet_step(std::string_view text) noexcept {
  constexpr std::string_view kPrefix = "miopen_";
  if (text.starts_with(kPrefix)) text.remove_prefix(kPrefix.size());
  return value_of<FleetStep>(kStepNames, text);
}

std::string_view name(JobState state) noexcept { return kJobStateNames.at(static_cast<size_t>(state)); }

std::optional<JobState> parse_job_state(std::string_view text) noexcept {
  return value_of<JobState>(kJobStateNames, text);
}

bool counts_as_attempt(Status failure) noexcept {
  return failure != Status::device_lost && failure != Status::cancelled;
}

bool may_be_retried(Status failure) noexcept {
  return failure != Status::unsupported && failure != Status::wrong_result;
}

}  // namespace attune
