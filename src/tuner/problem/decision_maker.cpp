// SPDX-License-Identifier: MIT
#include "tuner/problem/decision_maker.h"

#include <algorithm>
#include <set>

#include "ops/op.h"
#include "solver/candidate_number.h"

namespace attune {

Decision make_decision(const DecisionFacts& facts) {
  const ContestResult& contest = facts.contest;
  const EntrantFacts& winner = facts.entrants.at(contest.winner);
  const auto has_failed = [&](const auto& is_so) {
    return std::any_of(facts.failures.begin(), facts.failures.end(),
                       [&](const auto& one) { return is_so(one.second.status); });
  };
  Decision decision;
  decision.problem = facts.problem;
  decision.device = facts.device.key();
  decision.fingerprint = facts.device.fingerprint();
  decision.device_id = facts.device.id;
  decision.protocol = facts.protocol;
  decision.winner = winner.candidate;
  decision.baseline = facts.entrants.at(contest.baseline).candidate;
  decision.versions = facts.versions;
  std::set<std::string> solvers_in_final;
  for (const FinalistResult& finalist : contest.finalists) {
    const EntrantFacts& one = facts.entrants.at(finalist.slot);
    solvers_in_final.insert(one.candidate.solver);
    decision.finalists.push_back({one.candidate, finalist.comparison, one.verified.errors, one.binaries,
                                  finalist.confirmed, one.metadata, number_of(one.candidate, facts.contenders),
                                  one.workspace_bytes});
  }
  for (const Slot slot : contest.tied) decision.tied.push_back(facts.entrants.at(slot).candidate);
  const bool has_default = gives_default(op_of(facts.problem).family(), decision.baseline);
  decision.verdict = has_default ? contest.verdict : Verdict::no_default;
  if (has_default) decision.reason = contest.reason;
  decision.noisy = contest.noisy;
  // A candidate that failed transiently may be the best: the next run tries it and reuses the rest.
  decision.incomplete = facts.is_cut_short || has_failed(is_transient);
  if (has_failed([](Status status) { return status == Status::timed_out; })) decision.deadlines = facts.deadlines;
  decision.pause_cut = facts.pause_cut && contest.verdict == Verdict::faster;
  decision.timing = facts.timing;
  decision.bandwidth_gbs = winner.bandwidth_gbs;
  decision.num_openings = contest.num_openings;
  decision.dropped_samples = facts.dropped_samples;
  decision.errors = winner.verified.errors;
  decision.comparison = contest.comparison;
  decision.baseline_us = contest.baseline_us;
  decision.launches = facts.launches;
  decision.num_candidates = facts.num_candidates;
  decision.seconds = facts.seconds;
  decision.strategy = facts.strategy;
  decision.incumbent = facts.incumbent;
  decision.dropped_bests = facts.race_times.dropped_bests(solvers_in_final);
  if (has_default) decision.best_default = best_default(decision, facts.to_beat, facts.race_times);
  return decision;
}

}  // namespace attune
