// SPDX-License-Identifier: MIT
// The part of ProblemRun that samples.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "tuner/problem_run.h"

namespace attune {
namespace {

constexpr double kPieceS = 2;  // duration of a piece of a schedule, after which the clock is checked

}  // namespace

void ProblemRun::sample(std::vector<Turn> schedule) {
  if (contest_.phase() == Phase::finals && !finals_began_s_) finals_began_s_ = context_.clock.now_s();
  for (Turn& turn : schedule) {
    turn.launches = entries_.at(turn.slot).batch;
    turn.limit = run_limit(2 * turn.launches + 1);  // about as many launches are untimed
  }
  const auto answer = sample_in_pieces(schedule);
  if (!answer) return;
  const Sampled& sampled = *answer;
  starved_ = false;
  dropped_samples_ += sampled.dropped;
  // Samples beside a failed one cannot be paired with it, nor with samples of another epoch, so the schedule is
  // requested again.
  if (sampled.interrupted) start_again();
  withdraw_failed(sampled.failed);
  if (sampled.interrupted || !sampled.failed.empty()) return retire_dropped();
  sampled_pairing_ = contest_.pairing();
  contest_.report(sampled.samples);
  if (contest_.phase() == Phase::race) {
    for (size_t i = 0; i < sampled.turns.size(); ++i) {
      const auto entry = entries_.find(sampled.turns[i].slot);
      if (entry == entries_.end()) continue;
      // About as many launches are untimed.
      entry->second.timing_s += (2 * sampled.turns[i].launches + 1) * sampled.samples[i].us * 1e-6;
      source_->tell(entry->second.candidate, trial_of(entry->second));
    }
  }
  retire_dropped();
}

/// What the strategy is told of an entrant whose race goes on.
Trial ProblemRun::trial_of(const Competitor& entry) const {
  const Measurement measurement = contest_.measurement(entry.slot);
  return {.median_us = measurement.median_us,
          .spread = spread_of(measurement),
          .num_samples = static_cast<uint32_t>(measurement.samples.size()),
          .prepare_s = entry.prepare_s,
          .timing_s = entry.timing_s};
}

/// Short launches go to the executor in one piece. Long ones are split into several pieces, so that the time they need
/// is checked before it is spent, and an interrupt does not wait for all. Returns nullopt when the time ran out or
/// after an interrupt; the samples are then void.
std::optional<Sampled> ProblemRun::sample_in_pieces(std::span<const Turn> left) {
  Sampled all;
  while (!left.empty() && all.failed.empty() && !all.interrupted) {
    // During the race a decision still needs more time; later it may be reached with part of these turns.
    const double decision_s = contest_.phase() == Phase::race ? forecast_.decision_s() : 0;
    cut_unless_fits(std::max(forecast_.turns_s(left), decision_s));
    if (context_.must_stop() || !cut_reason_.empty()) return std::nullopt;
    size_t count = 0;
    for (double piece_s = 0; count < left.size() && piece_s <= kPieceS; ++count)
      piece_s += forecast_.turns_s(left.subspan(count, 1));
    const auto turns = left.first(count);
    context_.executor.sample({turns.begin(), turns.end()});
    Sampled piece = std::get<Sampled>(wait_for_answer());
    // Samples of the race are paired within their rounds, those of the finals and of an opening with each other, so a
    // new worker before the first of them loses nothing.
    const bool alone = contest_.phase() == Phase::race || contest_.pairing() != sampled_pairing_;
    const bool torn = epoch_ && piece.epoch != *epoch_ && !(alone && all.turns.empty());
    all.interrupted = piece.interrupted || torn;
    context_.epoch = all.epoch = piece.epoch;
    if (!all.interrupted) epoch_ = piece.epoch;
    all.dropped += piece.dropped;
    launches_ += piece.launches;
    forecast_.sampled(piece.turns, piece.samples);
    all.turns.insert(all.turns.end(), piece.turns.begin(), piece.turns.end());
    all.samples.insert(all.samples.end(), piece.samples.begin(), piece.samples.end());
    all.failed = std::move(piece.failed);
    left = left.subspan(count);
    if (!left.empty()) tell_progress();
  }
  return all;
}

/// After a worker's death, earlier samples cannot be paired with later ones: the finals restart, or an opening does.
void ProblemRun::start_again() {
  contest_.interrupt();
  if (contest_.phase() == Phase::finals) finals_began_s_.reset();
  sampled_pairing_.reset();
}

/// The executor works on another problem meanwhile; for a single problem the tuner waits.
void ProblemRun::await_delay(double seconds) {
  const double now_s = context_.clock.now_s();
  const double until_s = finals_began_s_.value_or(now_s) + seconds;
  // If the budget ends before the delay does, an early confirmation is better than none.
  const bool affordable = until_s - now_s < context_.left_s() / 2;
  if (now_s < until_s && affordable) {
    ready_at_s_ = until_s;
    return;
  }
  pause_cut_ = now_s < until_s;
  contest_.delayed();
}

/// A worker that another problem's recycle or a death has started since the last samples is as good as one of its own.
void ProblemRun::await_fresh_worker() {
  needs_fresh_worker_ = !has_fresh_worker();
  if (!needs_fresh_worker_) contest_.renewed();
}

void ProblemRun::renew_worker() {
  const double began_s = step_began_s_ = context_.clock.now_s();
  cut_unless_fits(context_.recycle_s);
  if (!cut_reason_.empty()) return;
  context_.executor.recycle();
  context_.epoch = std::get<Recycled>(wait_for_answer()).epoch;
  context_.recycle_s = context_.clock.now_s() - began_s;
  result_.seconds += context_.recycle_s;
}

void ProblemRun::withdraw_failed(const std::vector<std::pair<Slot, Outcome>>& failed) {
  for (const auto& [slot, outcome] : failed) {
    const auto found = entries_.find(slot);
    if (found == entries_.end()) continue;
    const Entry record = record_of(found->second, Stage::verify, outcome);
    context_.journal.append({&record, 1});
    history_.set_verified(found->second.candidate, found->second.binaries, outcome);
    note_failure(found->second.candidate, outcome, trial_of(found->second));
    withdraw(slot);
  }
}

void ProblemRun::withdraw(Slot slot) {
  contest_.withdraw(slot);
  context_.executor.drop(slot);
  entries_.erase(slot);
  finals_began_s_.reset();  // later phases restart from the finals
  needs_fresh_worker_ = false;
  if (slot != baseline_) return;
  // The next correct untuned config in the family's order replaces it, even one that the race had dropped.
  baseline_ = 0;
  for (const Candidate& candidate : source_->untuned()) {
    const auto present = std::find_if(entries_.begin(), entries_.end(),
                                      [&](const auto& entry) { return entry.second.candidate == candidate; });
    if (present == entries_.end() && is_known_failure(candidate)) continue;
    Competitor* next = present != entries_.end() ? &present->second : admit(candidate, true);
    if (!next) continue;
    baseline_ = next->slot;
    return join(*next);
  }
}

/// Runs untimed launches of the finalists (`--warmup`), interleaved; a turn is one untimed and one timed launch.
void ProblemRun::warm_up() {
  const uint32_t turns = context_.options.exhaustive ? 0 : (context_.options.warmup + 1) / 2;
  std::vector<Turn> schedule;
  for (uint32_t i = 0; i < turns; ++i) {
    for (const Slot slot : contest_.finalists()) schedule.push_back({.slot = slot, .limit = run_limit(3)});
  }
  const auto sampled = sample_in_pieces(schedule);
  if (!sampled) return;
  if (sampled->interrupted) start_again();
  withdraw_failed(sampled->failed);
}

}  // namespace attune
