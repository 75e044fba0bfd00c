// SPDX-License-Identifier: MIT
// The part of ProblemRun that samples.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "device/device_kind.h"
#include "measure/blocking_calls.h"
#include "tuner/problem_run.h"

namespace attune {
void ProblemRun::sample(std::vector<Turn> schedule) {
  if (contest_.phase() == Phase::finals && !finals_began_s_) finals_began_s_ = context_.clock.now_s();
  const Timing common = finals_timing();
  const double share = contest_.phase() == Phase::race ? how_.contest.race.sample_share : 1;
  for (Turn& turn : schedule) {
    const EntrantFacts& entrant = entrants_.at(turn.slot);
    turn.launches = static_cast<uint32_t>(std::ceil(share * entrant.batch));
    turn.timing = std::min(entrant.timing, common);
    turn.limit = run_limit(2 * turn.launches + 1);  // about as many launches are untimed
  }
  const auto answer = run_schedule(schedule);
  if (!answer) return;
  const SampleAnswer& sampled = *answer;
  if (asking_ == Asking::idle) asking_ = Asking::yes;
  // Samples taken with a failed candidate cannot be paired with its samples, nor with samples of another epoch. So the
  // schedule is requested again.
  if (sampled.interrupted) start_again();
  withdraw_failed(sampled.failed);
  if (sampled.interrupted || !sampled.failed.empty()) return retire_dropped();
  sampler_.took(contest_);
  contest_.report(sampled.samples);
  if (contest_.phase() != Phase::race) {
    look_at_clock();
    is_of_opening_ = contest_.phase() != Phase::finals || how_.exhaustive;
    for (const Turn& turn : sampled.turns) unchecked_.insert(turn.slot);
  }
  if (contest_.phase() == Phase::race) {
    for (size_t i = 0; i < sampled.turns.size(); ++i) {
      const auto entrant = entrants_.find(sampled.turns[i].slot);
      if (entrant == entrants_.end()) continue;
      // About as many launches are untimed.
      entrant->second.timing_s += (2 * sampled.turns[i].launches + 1) * sampled.samples[i].us * 1e-6;
      search_->tell(entrant->second.candidate, trial_of(entrant->second));
    }
  }
  retire_dropped();
}

/// Whether the last samples must be verified first, because the contest leaves the worker or decides.
bool ProblemRun::needs_recheck(const ContestRequest& want) const {
  const bool is_over = !std::holds_alternative<WantSamples>(want) && !std::holds_alternative<WantEntrants>(want);
  return is_over && !unchecked_.empty() && !(cut_ && cut_->is_abandoned);
}

/// Verifies the finalists again in the worker that timed them. A finalist that is wrong now leaves, and the finals are
/// repeated without it. The calls in a row cost as much as many samples, so a finalist makes them once, in an opening.
void ProblemRun::recheck() {
  if (context_.interrupted()) return;  // the run abandons its problems
  std::vector<Turn> turns;
  for (const Slot slot : unchecked_) {
    const bool repeats = is_of_opening_ && !repeated_.contains(slot);
    turns.push_back({.slot = slot, .launches = repeats ? 1 + kCallsInARow : 1, .limit = run_limit(1)});
  }
  Random(derive_seed(how_.protocol.seed, fmt::format("recheck {}", sampler_.num_launches()))).shuffle(turns);
  const SampleAnswer checked = sampler_.recheck(turns);
  const bool is_void = checked.interrupted || !checked.failed.empty();
  if (is_void) {
    contest_.restart();
    finals_began_s_.reset();
    sampler_.discarded();
    repeated_.clear();
  } else if (is_of_opening_) {
    repeated_.insert(unchecked_.begin(), unchecked_.end());
  }
  unchecked_.clear();
  withdraw_failed(checked.failed);
  if (!checked.failed.empty() && !how_.exhaustive) bring_back();
}

/// Brings back the fastest candidates that the race has dropped: a wrong finalist may have driven them out.
void ProblemRun::bring_back() {
  for (const Candidate& candidate : race_times_.fastest(how_.contest.race.max_finalists)) come_back(candidate);
}

/// Brings a candidate that left the race into the finals, which restart. False: it already competes, it failed, or
/// there is no time.
bool ProblemRun::come_back(const Candidate& candidate) {
  const bool is_there = std::any_of(entrants_.begin(), entrants_.end(),
                                    [&](const auto& one) { return one.second.candidate == candidate; });
  if (is_there || cut_ || context_.must_stop() || is_known_failure(candidate)) return false;
  EntrantFacts* const entrant = admit(candidate, true);
  if (entrant == nullptr) return false;
  entrant->shortlisted = true;
  join(*entrant);
  finals_began_s_.reset();
  sampler_.discarded();
  unchecked_.clear();
  return true;
}

/// Notes what limits the device's clock during samples that decide.
void ProblemRun::look_at_clock() {
  const DeviceInfo& device = context_.executor.device();
  const DeviceKind* const kind = find_device_kind(device.id);
  if (kind == nullptr || kind->clock_state == nullptr) return;
  const ClockState state = kind->clock_state(device.id);
  for (const std::string& one : state.held_by) clock_held_by_.insert(one);
  if (!state.unknown.empty() && !std::exchange(context_.said_clock_is_unknown, true))
    clock_remark_ = "what holds the clock down is not known: " + state.unknown;
}

/// How an entrant's next samples are timed. In the race each is timed in its own best way, which suffices to drop slow
/// ones. From the finals on all are timed in one way, because a graph leaves out the gaps between launches.
Timing ProblemRun::timing_of(const EntrantFacts& entrant) const { return std::min(entrant.timing, finals_timing()); }

/// The way in which all finalists can be timed; the best way while there is no finalist.
Timing ProblemRun::finals_timing() const {
  Timing timing = Timing::graph;
  for (const Slot slot : contest_.finalists()) timing = std::min(timing, entrants_.at(slot).timing);
  return timing;
}

/// Runs a schedule as Sampler::sample() does, within the limits of time.
std::optional<SampleAnswer> ProblemRun::run_schedule(std::span<const Turn> schedule) {
  const auto may_spend = [this](double seconds) {
    cut_unless_fits(seconds);
    return !context_.must_stop() && !cut_;
  };
  return sampler_.sample(schedule, contest_, may_spend, [this] { tell_progress(); });
}

/// Returns the trial that the strategy is told of an entrant whose race goes on.
Trial ProblemRun::trial_of(const EntrantFacts& entrant) const {
  const Measurement measurement = contest_.measurement(entrant.slot);
  return {.median_us = measurement.median_us,
          .spread = spread_of(measurement),
          .num_samples = static_cast<uint32_t>(measurement.samples.size()),
          .prepare_s = entrant.prepare_s,
          .timing_s = entrant.timing_s};
}

/// After a worker's death, earlier samples cannot be paired with later ones: the finals restart, or an opening does.
void ProblemRun::start_again() {
  contest_.interrupt();
  if (contest_.phase() == Phase::finals) finals_began_s_.reset();
  sampler_.discarded();
  unchecked_.clear();
}

/// During the delay the executor works on another problem; for a single problem the tuner waits.
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
  needs_fresh_worker_ = !sampler_.has_fresh_worker();
  if (!needs_fresh_worker_) contest_.renewed();
}

void ProblemRun::renew_worker() {
  const double began_s = step_began_s_ = context_.clock.now_s();
  const TimeUse before = context_.executor.workers().time;
  cut_unless_fits(context_.recycle_s);
  if (cut_) return;
  context_.epoch = recycle(context_.executor, context_.tick).epoch;
  context_.recycle_s = context_.clock.now_s() - began_s;
  result_.seconds += context_.recycle_s;
  note_time(before);
}

void ProblemRun::withdraw_failed(const std::vector<std::pair<Slot, Outcome>>& failed) {
  for (const auto& [slot, outcome] : failed) {
    const auto found = entrants_.find(slot);
    if (found == entrants_.end()) continue;
    const Entry record = record_of(found->second, Stage::verify, outcome);
    append({&record, 1});
    history_.set_verified(found->second.candidate, found->second.binaries, outcome);
    note_failure(found->second.candidate, outcome, trial_of(found->second));
    withdraw(slot);
  }
}

void ProblemRun::withdraw(Slot slot) {
  contest_.withdraw(slot);
  context_.executor.drop(slot);
  entrants_.erase(slot);
  finals_began_s_.reset();  // later phases restart from the finals
  needs_fresh_worker_ = false;
  unchecked_.clear();
  if (slot != baseline_) return;
  baseline_ = 0;
  EntrantFacts* next = set_baseline(source_->defaults());
  if (next == nullptr) next = set_baseline(source_->recommended());
  if (next != nullptr) join(*next);
}

/// Runs untimed launches of the finalists (`--warmup`), interleaved; a turn is one untimed and one timed launch.
void ProblemRun::warm_up() {
  const uint32_t turns = how_.exhaustive ? 0 : (how_.warmup + 1) / 2;
  std::vector<Turn> schedule;
  for (uint32_t i = 0; i < turns; ++i) {
    for (const Slot slot : contest_.finalists()) schedule.push_back({.slot = slot, .limit = run_limit(3)});
  }
  const auto sampled = run_schedule(schedule);
  if (!sampled) return;
  if (sampled->interrupted) start_again();
  withdraw_failed(sampled->failed);
}

}  // namespace attune
