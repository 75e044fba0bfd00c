// SPDX-License-Identifier: MIT
// The part of ProblemRun that records results and decides.
#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "tuner/problem_run.h"

namespace attune {
namespace {

constexpr uint32_t kMinProcesses = 2;  // in which the outputs of a required winner are compared

}  // namespace

Record ProblemRun::record_of(const Competitor& entry, Stage stage, Outcome outcome) const {
  const bool timed_out = outcome.status == Status::timed_out;
  return {.problem = item_.problem,
          .device = context_.executor.device().key(),
          .candidate = entry.candidate,
          .versions = *source_->versions_of(entry.candidate.solver),
          .protocol = context_.options.protocol,
          .stage = stage,
          .outcome = std::move(outcome),
          .fingerprint = context_.executor.device().fingerprint(),
          .binaries = entry.binaries,
          .deadlines = timed_out ? deadlines() : Deadlines{}};
}

/// Returns the race's measurement of a candidate, and keeps its time for the Decision's data on candidates that do not
/// reach the final.
Measurement ProblemRun::screened(const Competitor& entry) {
  Measurement measurement = contest_.measurement(entry.slot);
  measurement.workspace_bytes = entry.workspace_bytes;
  measurement.rotation_bytes = entry.rotation_bytes;
  race_times_.add(entry.candidate, measurement.median_us, entry.workspace_bytes);
  return measurement;
}

void ProblemRun::retire_dropped() {
  std::vector<Entry> records;
  for (const Slot slot : contest_.take_dropped()) {
    const auto found = entries_.find(slot);
    if (found == entries_.end()) continue;
    Outcome outcome = found->second.verified;
    outcome.measurement = screened(found->second);
    Record record = record_of(found->second, Stage::screen, std::move(outcome));
    record.dropped = true;
    records.emplace_back(std::move(record));
    context_.executor.drop(slot);
    entries_.erase(found);
  }
  if (!records.empty()) context_.journal.append(records);
}

void ProblemRun::shortlist() {
  retire_dropped();
  std::vector<Entry> records;
  for (const Slot slot : contest_.finalists()) {
    Competitor& entry = entries_.at(slot);
    if (entry.shortlisted) continue;  // recorded by the run that raced it
    Outcome outcome = entry.verified;
    outcome.measurement = screened(entry);
    if (outcome.measurement->samples.empty()) continue;  // an exhaustive search has no race
    records.emplace_back(record_of(entry, Stage::screen, std::move(outcome)));
  }
  if (!records.empty()) context_.journal.append(records);
}

void ProblemRun::decide() {
  const ContestResult outcome = contest_.result();
  if (abandoned_) return finish(Ending::cut, cut_reason_);
  if (!outcome.decided) {
    if (!cut_reason_.empty()) return finish(Ending::cut, cut_reason_);
    return finish_without_row();
  }
  if (context_.options.protocol.require != Requirement::none && outcome.num_openings < kMinProcesses)
    return finish(Ending::cut, "it ended before the winner's bits were compared in two processes");
  std::vector<Entry> journal;
  for (const FinalistResult& finalist : outcome.finalists) {
    const Competitor& entry = entries_.at(finalist.slot);
    Outcome evidence = entry.verified;
    evidence.measurement = contest_.measurement(finalist.slot);
    evidence.measurement->epoch = epoch_.value_or(0);
    evidence.measurement->workspace_bytes = entry.workspace_bytes;
    evidence.measurement->rotation_bytes = entry.rotation_bytes;
    journal.emplace_back(record_of(entry, Stage::final, std::move(evidence)));
  }
  result_.decision = make_decision(outcome);
  journal.emplace_back(*result_.decision);
  context_.journal.append(journal);
  finish(Ending::decided, "");
}

Decision ProblemRun::make_decision(const ContestResult& outcome) const {
  Decision decision;
  decision.problem = item_.problem;
  decision.device = context_.executor.device().key();
  decision.fingerprint = context_.executor.device().fingerprint();
  decision.protocol = context_.options.protocol;
  const Competitor& winner = entries_.at(outcome.winner);
  decision.winner = winner.candidate;
  decision.baseline = entries_.at(outcome.baseline).candidate;
  decision.versions = source_->versions();
  std::set<std::string> solvers_in_final;
  for (const FinalistResult& finalist : outcome.finalists) {
    const Competitor& entry = entries_.at(finalist.slot);
    solvers_in_final.insert(entry.candidate.solver);
    decision.finalists.push_back(
        {entry.candidate, finalist.comparison, entry.verified.errors, entry.binaries, finalist.confirmed});
  }
  for (const Slot slot : outcome.tied) decision.tied.push_back(entries_.at(slot).candidate);
  decision.verdict = outcome.verdict;
  decision.noisy = outcome.noisy;
  // A candidate that failed transiently may be the best: the next run tries it and reuses the rest.
  const auto has_failed = [&](const auto& is_so) {
    return std::any_of(result_.failures.begin(), result_.failures.end(),
                       [&](const auto& one) { return is_so(one.second.status); });
  };
  decision.incomplete = shortened_ || !cut_reason_.empty() || has_failed(is_transient);
  if (has_failed([](Status status) { return status == Status::timed_out; })) decision.deadlines = deadlines();
  decision.pause_cut = pause_cut_ && outcome.verdict == Verdict::faster;
  decision.num_openings = outcome.num_openings;
  decision.dropped_samples = dropped_samples_;
  decision.errors = winner.verified.errors;
  decision.comparison = outcome.comparison;
  decision.baseline_us = outcome.baseline_us;
  decision.launches = launches_;
  decision.num_candidates = result_.num_candidates;
  decision.seconds = result_.seconds + context_.clock.now_s() - step_began_s_;
  decision.strategy = context_.options.strategy.name;
  decision.incumbent = item_.incumbent;
  decision.dropped_bests = race_times_.dropped_bests(solvers_in_final);
  std::vector<Candidate> opponents = source_->untuned();
  std::erase_if(opponents, [&](const Candidate& one) { return !is_opponent(one); });
  decision.best_untuned = best_untuned(decision, opponents, race_times_);
  return decision;
}

}  // namespace attune
