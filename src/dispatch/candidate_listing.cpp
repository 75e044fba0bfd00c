// SPDX-License-Identifier: MIT
// The candidates of a problem as callers name and list them.
#include "attune/dispatcher.h"
#include "dispatch/dispatch_state.h"
#include "solver/candidate_number.h"

namespace attune {

Candidate PlanService::candidate(const Problem& problem, std::string_view text) {
  const auto number = CandidateNumber::parse(text);
  if (!number) return Candidate::parse(text);
  const Lock lock(guard_);
  ThreadLimitedDevice& device = present_device();
  const auto exemption = device.maker.exempt();
  return device.numbered.find(problem, *number);
}

std::vector<SolverCandidates> PlanService::candidates(const Problem& problem, const CandidateRange& range) {
  const Lock lock(guard_);
  ThreadLimitedDevice& device = present_device();
  const auto exemption = device.maker.exempt();
  return device.numbered.list(problem, range);
}

std::vector<SolverCandidates> Dispatcher::candidates(std::string_view problem, const CandidateRange& range) {
  return state_->plans.candidates(state_->read_problem(problem), range);
}

}  // namespace attune
