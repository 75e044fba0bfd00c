// SPDX-License-Identifier: MIT
// The part of ProblemRun that records results and decides.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "tuner/problem/decision_maker.h"
#include "tuner/problem_run.h"

namespace attune {
namespace {

constexpr uint32_t kMinProcesses = 2;  // processes in which a winner's outputs are compared under a requirement

}  // namespace

Record ProblemRun::record_of(const EntrantFacts& entrant, Stage stage, Outcome outcome) const {
  const bool timed_out = outcome.status == Status::timed_out;
  return {.problem = item_.problem,
          .device = context_.executor.device().key(),
          .candidate = entrant.candidate,
          .versions = *source_->versions_of(entrant.candidate.solver),
          .protocol = how_.protocol,
          .stage = stage,
          .outcome = std::move(outcome),
          .fingerprint = context_.executor.device().fingerprint(),
          .binaries = entrant.binaries,
          .deadlines = timed_out ? deadlines() : Deadlines{},
          .metadata = entrant.metadata,
          .device_id = context_.executor.device().id};
}

/// Returns the race's measurement of a candidate, and keeps its time for the Decision's data on candidates that do not
/// reach the final.
Measurement ProblemRun::screened(const EntrantFacts& entrant) {
  Measurement measurement = contest_.measurement(entrant.slot);
  measurement.workspace_bytes = entrant.workspace_bytes;
  measurement.rotation_bytes = entrant.rotation_bytes;
  measurement.bandwidth_gbs = entrant.bandwidth_gbs;
  measurement.timing = entrant.timing;
  race_times_.add(entrant.candidate, measurement.median_us, entrant.workspace_bytes);
  return measurement;
}

void ProblemRun::retire_dropped() {
  std::vector<Entry> records;
  for (const Slot slot : contest_.take_dropped()) {
    const auto found = entrants_.find(slot);
    if (found == entrants_.end()) continue;
    Outcome outcome = found->second.verified;
    outcome.measurement = screened(found->second);
    Record record = record_of(found->second, Stage::screen, std::move(outcome));
    record.dropped = true;
    records.emplace_back(std::move(record));
    context_.executor.drop(slot);
    entrants_.erase(found);
  }
  if (!records.empty()) append(records);
}

/// Records the short list, and ends the problem if only a short list was wanted.
void ProblemRun::end_race() {
  state_ = State::contesting;
  retire_dropped();
  std::vector<Entry> records;
  for (const Slot slot : contest_.finalists()) {
    EntrantFacts& entrant = entrants_.at(slot);
    if (entrant.shortlisted) continue;  // recorded by the run that raced it
    Outcome outcome = entrant.verified;
    outcome.measurement = screened(entrant);
    if (outcome.measurement->samples.empty()) continue;  // an exhaustive search has no race
    records.emplace_back(record_of(entrant, Stage::screen, std::move(outcome)));
  }
  if (!records.empty()) append(records);
  if (lacks_contestant()) return finish_without_kernels();
  if (item_.goal == Goal::decision || cut_) return warm_up();
  for (const Slot slot : contest_.finalists()) {
    const EntrantFacts& entrant = entrants_.at(slot);
    const double median_us =
        entrant.shortlisted ? race_times_.us_of(entrant.candidate).value_or(0) : contest_.median_us(slot);
    result_.short_list.push_back({entrant.candidate, median_us, entrant.workspace_bytes});
  }
  finish(Ending::shortlisted, "");
}

/// Whether the kernel of a short-listed candidate or of a default config is missing: without it the contest might
/// decide otherwise.
bool ProblemRun::lacks_contestant() const { return item_.is_contest && !result_.unbuilt.empty(); }

void ProblemRun::finish_without_kernels() {
  result_.lacks_kernels = true;
  finish(Ending::cut, "kernels of its candidates are not built");
}

void ProblemRun::settle_short_list() {
  const std::string reason = *std::exchange(settle_reason_, std::nullopt);
  for (const auto& [slot, entrant] : entrants_) {
    const double us = entrant.shortlisted ? race_times_.us_of(entrant.candidate).value_or(0) : contest_.median_us(slot);
    if (us > 0) result_.short_list.push_back({entrant.candidate, us, entrant.workspace_bytes});
  }
  if (result_.short_list.empty()) return cut(reason);
  constexpr size_t kMaxSettled = 3;
  std::sort(result_.short_list.begin(), result_.short_list.end(),
            [](const ShortListEntry& a, const ShortListEntry& b) { return a.us < b.us; });
  if (result_.short_list.size() > kMaxSettled) result_.short_list.resize(kMaxSettled);
  finish(Ending::shortlisted, "");
}

Decision ProblemRun::decision_of(const ContestResult& outcome) {
  std::vector<Candidate> to_beat = source_->defaults();
  const auto& recommended = source_->recommended();
  to_beat.insert(to_beat.end(), recommended.begin(), recommended.end());
  std::erase_if(to_beat, [&](const Candidate& one) { return !must_be_beaten(one); });
  return make_decision({.problem = item_.problem,
                        .device = context_.executor.device(),
                        .protocol = how_.protocol,
                        .contest = outcome,
                        .entrants = entrants_,
                        .race_times = race_times_,
                        .failures = result_.failures,
                        .contenders = contenders_,
                        .to_beat = std::move(to_beat),
                        .versions = source_->versions(),
                        .strategy = how_.strategy.name,
                        .incumbent = item_.incumbent,
                        .deadlines = deadlines(),
                        .is_cut_short = asking_ == Asking::incomplete || cut_.has_value() || has_cut_part(),
                        .pause_cut = pause_cut_,
                        .timing = timing_of(entrants_.at(outcome.winner)),
                        .launches = num_admission_launches_ + sampler_.num_launches(),
                        .dropped_samples = sampler_.num_dropped(),
                        .num_candidates = result_.num_candidates,
                        .seconds = result_.seconds + context_.clock.now_s() - step_began_s_});
}

void ProblemRun::decide() {
  const ContestResult outcome = contest_.result();
  if (cut_ && (cut_->is_abandoned || !outcome.decided)) return finish(Ending::cut, cut_->reason);
  if (!outcome.decided) return finish_without_row();
  if (how_.protocol.require != Requirement::none && outcome.num_openings < kMinProcesses)
    return finish(Ending::cut, "it ended before the winner's bits were compared in two processes");
  std::vector<Entry> journal;
  for (const FinalistResult& finalist : outcome.finalists) {
    const EntrantFacts& entrant = entrants_.at(finalist.slot);
    Outcome evidence = entrant.verified;
    // Race samples that are shorter or were timed in another way do not count as evidence in the finals.
    const Timing timing = timing_of(entrant);
    const bool is_race_alike = timing == entrant.timing && how_.contest.race.sample_share == 1;
    const Rounds rounds = is_race_alike ? Rounds{} : contest_.rounds_since_race();
    evidence.measurement = contest_.measurement(finalist.slot, rounds);
    evidence.measurement->timing = timing;
    evidence.measurement->epoch = sampler_.epoch();
    evidence.measurement->workspace_bytes = entrant.workspace_bytes;
    evidence.measurement->rotation_bytes = entrant.rotation_bytes;
    evidence.measurement->bandwidth_gbs = entrant.bandwidth_gbs;
    journal.emplace_back(record_of(entrant, Stage::final, std::move(evidence)));
  }
  result_.decision = decision_of(outcome);
  const auto& default_config = result_.decision->best_default;
  if (outcome.verdict == Verdict::faster && default_config && default_config->candidate != result_.decision->winner &&
      default_config->ratio <= 1) {
    // The race was wrong about one of them, so they meet in the finals.
    const Candidate candidate = default_config->candidate;
    result_.decision.reset();
    if (come_back(candidate)) return;
    contest_.deny(fmt::format("a default config that left the race was as fast: {}", candidate.name()));
    return decide();
  }
  // If few had no memory, the Decision is incomplete, and the next run tries them.
  const size_t num_untried = num_failed_by_machine();
  const size_t num_others = result_.num_candidates - std::min(result_.num_candidates, source_->defaults().size());
  const Verdict verdict = result_.decision->verdict;
  if (2 * num_untried > num_others && (verdict == Verdict::baseline || verdict == Verdict::tie)) {
    result_.decision.reset();
    result_.lacks_memory = has_failed_for_memory();
    append(journal);
    return finish(Ending::cut, fmt::format("{} had no memory or no worker, so none is known to be the fastest",
                                           counted_of(num_untried, result_.num_candidates, "candidate")));
  }
  journal.emplace_back(*result_.decision);
  append(journal);
  finish(Ending::decided, "");
}

}  // namespace attune
