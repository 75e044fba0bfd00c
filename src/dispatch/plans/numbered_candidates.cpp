// SPDX-License-Identifier: MIT
#include "dispatch/plans/numbered_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "base/error.h"
#include "base/text.h"
#include "search/strategy/space_rules.h"

namespace attune {
namespace {

constexpr size_t kMaxMeanings = 16384;  // As many as shapes are remembered.

void add_candidates(SolverCandidates& listed, const Contender& contender, const Problem& problem,
                    const DeviceInfo& device, const CandidateRange& range) {
  const SearchSpace& space = contender.space;
  listed.num_numbers = space.size();
  if (range.first >= space.size()) return;
  const SpaceRules rules(space, problem, device);
  for (uint64_t number = range.first; number < space.size() && listed.candidates.size() < range.limit; ++number) {
    // Of the numbers of one config, which differ in parameters that it does not have, the first is its own.
    if (space.canonical(number) != number || rules.rejects(number) != nullptr) continue;
    listed.candidates.push_back({number, CandidateNumber{std::string(first_part(contender.solver)), number}.text(),
                                 Candidate{contender.solver, contender.version, space.at(number)}.name()});
  }
}

}  // namespace

const Contender& NumberedCandidates::contender(const Problem& problem, const SolverEntry& entry) {
  if (problem_ != problem.key()) {
    contenders_.clear();
    problem_ = problem.key();
  }
  if (const auto known = contenders_.find(entry.id); known != contenders_.end()) return known->second;
  // Null as well for a module that an application could not open; its entry then has the reason.
  const Solver* const solver = solvers_.find(entry.id);
  Contender made = solver != nullptr ? maker_.contender(problem, *solver)
                                     : Contender{.solver = entry.id,
                                                 .support = Support::no("is not available: " + entry.unavailable)};
  return contenders_.emplace(entry.id, std::move(made)).first->second;
}

const Candidate& NumberedCandidates::find(const Problem& problem, const CandidateNumber& wanted) {
  const std::string meaning = fmt::format("{} {}", problem.key(), wanted.text());
  if (const auto known = meanings_.find(meaning); known != meanings_.end()) return known->second;
  std::vector<Contender> named;  // Contenders share their lists.
  for (const SolverEntry& entry : solvers_.entries()) {
    if (wanted.is_of(entry.id)) named.push_back(contender(problem, entry));
  }
  Candidate found = numbered_candidate(wanted, named);
  if (meanings_.size() >= kMaxMeanings) meanings_.clear();
  return meanings_.emplace(meaning, std::move(found)).first->second;
}

std::vector<SolverCandidates> NumberedCandidates::list(const Problem& problem, const CandidateRange& range) {
  std::vector<SolverCandidates> all;
  for (const SolverEntry& entry : solvers_.entries()) {
    if (!range.solver.empty() && !CandidateNumber{range.solver}.is_of(entry.id)) continue;
    SolverCandidates& listed = all.emplace_back(SolverCandidates{.solver = entry.id});
    try {
      const Contender& own = contender(problem, entry);
      if (const auto why = why_unnumbered(own))
        listed.why_none = *why;
      else
        add_candidates(listed, own, problem, maker_.device(), range);
    } catch (const std::exception& error) {
      listed.why_none = error.what();
    }
  }
  // Solvers of one name compute different ops.
  const auto is_without = [](const SolverCandidates& one) { return !one.why_none.empty(); };
  if (!range.solver.empty() && !std::ranges::all_of(all, is_without)) std::erase_if(all, is_without);
  if (all.empty())
    fail(ErrorCode::unavailable, "no solver of that name is available on this machine: '{}'", shown(range.solver));
  return all;
}

}  // namespace attune
