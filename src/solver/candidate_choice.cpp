// SPDX-License-Identifier: MIT
#include "solver/candidate_choice.h"

#include <algorithm>

#include "base/error.h"
#include "solver/candidate_number.h"

namespace attune {
namespace {

/// A candidate by its name, or by its number here.
Candidate named_candidate(const std::string& text, std::span<const Contender> contenders) {
  const auto number = CandidateNumber::parse(text);
  if (!number) return Candidate::parse(text);
  if (std::ranges::none_of(contenders, [&](const Contender& one) { return number->is_of(one.solver); }))
    fail(ErrorCode::not_found, "no solver of this name is available, see `attune list solvers`: '{}'", text);
  return numbered_candidate(*number, contenders);
}

Candidate candidate_of(const std::string& solver, const std::string& config, std::span<const Contender> contenders) {
  const Contender* contender = find_contender(contenders, solver);
  if (contender == nullptr)
    fail(ErrorCode::not_found, "no solver of this name is available, see `attune list solvers`: '{}'", solver);
  if (!contender->support.yes)
    fail(ErrorCode::invalid_input,
         "the solver cannot run the problem, `attune list candidates` shows which ones can: {} {}", solver,
         contender->support.reason);
  return {solver, contender->version, config.empty() ? contender->default_config : Config::parse(config)};
}

/// Throws invalid_input for a config that the candidate's own solver and version do not offer.
void check_is_offered(const Candidate& candidate, const Problem& problem, std::span<const Contender> contenders,
                      const DeviceInfo& device) {
  const Contender* own = find_contender(contenders, candidate.solver);
  if (own == nullptr || !own->support.yes || own->version != candidate.version ||
      own->default_config == candidate.config)
    return;
  if (const auto why = why_unusable(candidate, problem, own, device)) fail(ErrorCode::invalid_input, "{}", *why);
}

}  // namespace

std::vector<Candidate> chosen_candidates(const CandidateChoice& choice, const Problem& problem,
                                         std::span<const Contender> contenders, const DeviceInfo& device) {
  std::vector<Candidate> chosen;
  for (const std::string& name : choice.names) chosen.push_back(named_candidate(name, contenders));
  if (!choice.solver.empty())
    chosen.push_back(candidate_of(choice.solver, choice.config, contenders));
  else if (!choice.config.empty())
    fail(ErrorCode::invalid_input, "--config needs --solver");
  for (const Candidate& one : chosen) check_is_offered(one, problem, contenders, device);
  if (!chosen.empty()) return chosen;
  for (const Contender& contender : contenders) {
    if (contender.support.yes) chosen.push_back({contender.solver, contender.version, contender.default_config});
  }
  if (chosen.empty())
    fail(ErrorCode::unavailable, "no available solver supports the problem; `attune list candidates` shows why: '{}'",
         problem.key());
  return chosen;
}

}  // namespace attune
