// SPDX-License-Identifier: MIT
#include "fleet/agent/job_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace attune {
namespace {

JobOutcome short_list_of(const TuneResult& result) {
  JobOutcome outcome;
  for (const ShortListEntry& one : result.short_list)
    outcome.short_list.push_back({one.candidate.solver, one.candidate, one.us, one.workspace_bytes});
  std::stable_sort(outcome.short_list.begin(), outcome.short_list.end(),
                   [](const ShortListRow& a, const ShortListRow& b) { return a.us < b.us; });
  if (outcome.short_list.size() > kShortListSize) outcome.short_list.resize(kShortListSize);
  if (outcome.short_list.empty()) return {.status = Status::launch_failed, .detail = "no candidate could be timed"};
  return outcome;
}

JobOutcome failure_of(const TuneResult& result) {
  const bool was_tried = result.ending == Ending::unsupported && !result.failures.empty();
  return {.status = was_tried ? result.failures.front().second.status : Status::unsupported, .detail = result.reason};
}

/// A failed attempt: a later one may separate the candidates.
JobOutcome unfinished_contest(const Candidate& failed, const Outcome& outcome) {
  return {.status = outcome.status,
          .detail = fmt::format("its contest is not decided because a candidate failed: {}: {}", failed.name(),
                                outcome.detail)};
}

}  // namespace

std::optional<JobOutcome> outcome_of(const TuneResult& result) {
  if (result.lacks_kernels) return JobOutcome{.status = Status::compile_failed, .detail = result.reason};
  if (result.ending == Ending::cut) return std::nullopt;
  if (result.ending == Ending::shortlisted) return short_list_of(result);
  if (!result.decision) return failure_of(result);
  if (result.decision->incomplete) {
    const auto failed = std::find_if(result.failures.begin(), result.failures.end(),
                                     [](const auto& one) { return is_transient(one.second.status); });
    // Cut during its finals: the next run continues from the journal.
    if (failed == result.failures.end()) return std::nullopt;
    if (is_unfinished_tie(*result.decision)) return unfinished_contest(failed->first, failed->second);
  }
  JobOutcome outcome;
  outcome.decision = result.decision;
  outcome.finalists = finalists_of(*result.decision);
  return outcome;
}

std::vector<WantedCandidate> wanted_kernels_of(const ClaimedJob& job, const TuneResult& result) {
  std::vector<WantedCandidate> wanted;
  const bool is_search = job.step == FleetStep::perf_eval;
  if (!result.lacks_kernels && (!is_search || result.ending == Ending::cut)) return wanted;
  for (const UnbuiltCandidate& one : result.unbuilt)
    wanted.push_back({is_search ? job.solver : one.candidate.solver, one.problem.key(), one.candidate});
  return wanted;
}

std::vector<ShortListRow> published_finalists(const Decision& decision, std::vector<ShortListRow> finalists) {
  const Candidate& winner = decision.winner;
  const auto won = std::ranges::find(decision.finalists, winner, &Finalist::candidate);
  const double us = decision.comparison.us;
  if (won == decision.finalists.end() || us <= 0) return finalists;
  std::erase_if(finalists, [&](const ShortListRow& one) { return one.solver == winner.solver || one.us <= us; });
  finalists.insert(finalists.begin(), {winner.solver, winner, us, won->workspace_bytes});
  return finalists;
}

std::vector<ShortListRow> finalists_of(const Decision& decision) {
  std::map<std::string, ShortListRow> best;
  const Candidate& winner = decision.winner;
  const bool has_winner = std::ranges::any_of(
      decision.finalists, [&](const Finalist& one) { return one.candidate == winner && one.comparison.us > 0; });
  const auto add = [&](const Candidate& candidate, double us, uint64_t workspace_bytes) {
    if (us <= 0) return;
    if (has_winner && candidate.solver == winner.solver && candidate != winner) return;
    const ShortListRow row{candidate.solver, candidate, us, workspace_bytes};
    const auto [place, is_first] = best.try_emplace(candidate.solver, row);
    if (!is_first && us < place->second.us) place->second = row;
  };
  for (const Finalist& one : decision.finalists) add(one.candidate, one.comparison.us, one.workspace_bytes);
  for (const DroppedBest& one : decision.dropped_bests) add(one.candidate, one.us, one.workspace_bytes);
  std::vector<ShortListRow> all;
  for (auto& [solver, row] : best) all.push_back(std::move(row));
  std::sort(all.begin(), all.end(), [](const ShortListRow& a, const ShortListRow& b) {
    return std::tie(a.us, a.solver) < std::tie(b.us, b.solver);
  });
  return all;
}

}  // namespace attune
