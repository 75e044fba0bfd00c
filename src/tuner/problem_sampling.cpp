// SPDX-License-Identifier: MIT
// The part of ProblemRun that samples.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "tuner/problem_run.h"

namespace attune {
namespace {

constexpr double kPieceS = 2;  // duration of a piece of a schedule, after which the clock is checked

/// Publishing continues the rounds of confirm.
Phase paired_phase(Phase phase) { return phase == Phase::publish ? Phase::confirm : phase; }

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
  sampled_phase_ = paired_phase(contest_.phase());
  contest_.report(sampled.samples);
  if (contest_.phase() == Phase::race) {
    for (const Turn& turn : sampled.turns) {
      if (const auto entry = entries_.find(turn.slot); entry != entries_.end())
        source_->tell(entry->second.candidate, Status::ok, contest_.median_us(turn.slot));
    }
  }
  retire_dropped();
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
    // Samples of the race are paired within their rounds, those of confirm with each other, so a death before the first
    // of them loses nothing.
    const bool alone = contest_.phase() == Phase::race || paired_phase(contest_.phase()) != sampled_phase_;
    const bool torn = epoch_ && piece.epoch != *epoch_ && !(alone && all.turns.empty());
    all.interrupted = piece.interrupted || torn;
    epoch_ = all.epoch = piece.epoch;
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

/// After a worker's death, earlier samples cannot be paired with later ones, and later phases restart from the finals.
void ProblemRun::start_again() {
  contest_.interrupt();
  finals_began_s_.reset();
  sampled_phase_ = Phase::race;
}

void ProblemRun::withdraw_failed(const std::vector<std::pair<Slot, Outcome>>& failed) {
  for (const auto& [slot, outcome] : failed) {
    const auto found = entries_.find(slot);
    if (found == entries_.end()) continue;
    const Entry record = record_of(found->second, Stage::verify, outcome);
    context_.journal.append({&record, 1});
    history_.set_verified(found->second.candidate, found->second.binaries, outcome);
    note_failure(found->second.candidate, outcome);
    withdraw(slot);
  }
}

void ProblemRun::withdraw(Slot slot) {
  contest_.withdraw(slot);
  context_.executor.drop(slot);
  entries_.erase(slot);
  finals_began_s_.reset();  // later phases restart from the finals
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
