// SPDX-License-Identifier: MIT
#include "tuner/interleaved.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "core/statistics.h"
#include "device/device_kind.h"
#include "measure/blocking_calls.h"
#include "tuner/kernels.h"

namespace attune {
namespace {

constexpr ProblemId kId = 0;

struct Timed {
  TimedCandidate* result;
  Slot slot;
  uint32_t batch;
  Timing timing;
  double bandwidth_gbs;
  std::vector<Sample> samples;
};

std::vector<double> usable_us(const std::vector<Sample>& samples) {
  std::vector<double> clean, all;
  for (const Sample& sample : samples) {
    if (sample.us <= 0) continue;
    all.push_back(sample.us);
    if (!sample.dirty) clean.push_back(sample.us);
  }
  return clean.size() >= 3 ? clean : all;
}

void compare_to_first(const Timed& first, Timed& other) {
  std::vector<double> logs;
  for (size_t round = 0; round < std::min(first.samples.size(), other.samples.size()); ++round) {
    const Sample &a = first.samples[round], &b = other.samples[round];
    if (!a.dirty && !b.dirty && a.us > 0 && b.us > 0) logs.push_back(std::log(a.us / b.us));
  }
  if (&other != &first) set_ratio(other.result->comparison, logs);
  other.result->comparison.num_clean = static_cast<uint32_t>(logs.size());
}

void fill_measurement(Timed& timed) {
  const auto us = usable_us(timed.samples);
  if (us.empty()) {
    timed.result->outcome = {.status = Status::launch_failed, .detail = "no usable sample"};
    return;
  }
  Measurement measurement;
  measurement.samples = timed.samples;
  measurement.timing = timed.timing;
  measurement.bandwidth_gbs = timed.bandwidth_gbs;
  measurement.median_us = median(us);
  measurement.spread_us = scaled_mad(us);
  size_t clean = 0;
  for (const Sample& sample : timed.samples) clean += !sample.dirty;
  measurement.noisy = clean < 3;
  timed.result->comparison.us = measurement.median_us;
  timed.result->outcome.measurement = std::move(measurement);
}

/// Notes the failures of a schedule in the results of their candidates, which then take no further part.
void note_failures(const SampleAnswer& sampled, std::vector<Timed>& alive) {
  for (const auto& [slot, outcome] : sampled.failed) {
    for (Timed& timed : alive) {
      if (timed.slot == slot) timed.result->outcome = outcome;
    }
  }
}

/// A death voids a schedule, so it is run again without the dead candidates until it completes or is aborted.
SampleAnswer sample_all(Executor& executor, std::vector<Turn> schedule, const Tick& tick) {
  std::vector<std::pair<Slot, Outcome>> failed;
  for (;;) {
    auto sampled = sample(executor, {schedule}, tick);
    if (sampled.is_cancelled) {
      for (const Turn& turn : schedule)
        sampled.failed.emplace_back(turn.slot, Outcome{.status = Status::cancelled, .detail = "the run was stopped"});
    }
    if (!sampled.interrupted || sampled.is_cancelled) {
      sampled.failed.insert(sampled.failed.end(), failed.begin(), failed.end());
      return sampled;
    }
    for (auto& one : sampled.failed) {
      std::erase_if(schedule, [&](const Turn& turn) { return turn.slot == one.first; });
      failed.push_back(std::move(one));
    }
  }
}

/// Times all candidates in turn and verifies them again in the same worker. If one is wrong then, no sample counts and
/// the others are timed again, in a fresh worker.
void time_and_recheck(Executor& executor, std::vector<Timed*> alive, const Limits& limits,
                      const InterleavedOptions& options) {
  Random random(options.seed + 1);
  const auto drop_failed = [&](const SampleAnswer& answer) {
    for (const auto& [slot, outcome] : answer.failed) {
      const auto found = std::ranges::find(alive, slot, &Timed::slot);
      if (found == alive.end()) continue;
      (*found)->result->outcome = outcome;
      alive.erase(found);
    }
  };
  constexpr int kMaxLost = 3;
  int num_lost = 0;
  while (!alive.empty()) {
    std::vector<Turn> schedule, checks;
    for (Timed* timed : alive) {
      timed->samples.clear();
      checks.push_back({.slot = timed->slot, .launches = 1 + kCallsInARow, .limit = limits.run});
    }
    auto order = alive;
    for (uint32_t round = 0; round < options.rounds; ++round) {
      random.shuffle(order);
      for (const Timed* timed : order)
        schedule.push_back({timed->slot, round, timed->batch, turn_limit(timed->batch, limits), timed->timing});
    }
    if (schedule.empty()) return;
    const SampleAnswer sampled = sample_all(executor, std::move(schedule), options.tick);
    drop_failed(sampled);
    if (sampled.is_cancelled) return;
    for (size_t i = 0; i < sampled.turns.size(); ++i) {
      const auto timed = std::ranges::find(alive, sampled.turns[i].slot, &Timed::slot);
      if (timed != alive.end()) (*timed)->samples.push_back(sampled.samples[i]);
    }
    std::erase_if(checks,
                  [&](const Turn& turn) { return std::ranges::find(alive, turn.slot, &Timed::slot) == alive.end(); });
    if (checks.empty()) return;
    random.shuffle(checks);
    const SampleAnswer checked = sample(executor, {std::move(checks), true}, options.tick);
    if (checked.is_cancelled) {
      for (Timed* timed : alive)
        timed->result->outcome = {.status = Status::cancelled, .detail = "the run was stopped"};
      return;
    }
    drop_failed(checked);
    const bool is_same_worker = checked.epoch == sampled.epoch;
    if (checked.failed.empty() && !checked.interrupted && is_same_worker) return;
    if (!checked.failed.empty() || ++num_lost < kMaxLost) continue;
    for (Timed* timed : alive)
      timed->result->outcome = {.status = Status::cancelled,
                                .detail = "its worker was lost before it could be verified again, three times"};
    return;
  }
}

/// By graphs if all can be captured, because a graph leaves out the gaps between launches.
void time_alike(std::vector<Timed>& alive) {
  Timing timing = Timing::graph;
  for (const Timed& one : alive) timing = std::min(timing, one.timing);
  for (Timed& one : alive) one.timing = timing;
}

/// Makes all candidates again in a second worker, which compares their outputs with the first one's.
void compare_processes(Executor& executor, std::vector<Timed>& alive, const Limits& limits, const Tick& tick) {
  recycle(executor, tick);
  std::vector<Turn> schedule;
  for (const Timed& one : alive) schedule.push_back({one.slot, 0, 1, turn_limit(one.batch, limits)});
  note_failures(sample_all(executor, std::move(schedule), tick), alive);
  std::erase_if(alive, [](const Timed& one) { return !one.result->outcome.ok(); });
}

}  // namespace

Milliseconds turn_limit(uint32_t batch, const Limits& limits) {
  // With one launch a batch, each may take the whole limit; shorter ones stay far below it.
  constexpr int kMaxLaunches = 8;  // untimed ones, repeated after rests, and the timed one
  return batch == 1 ? kMaxLaunches * limits.run : limits.run;
}

Limits limits_on(const DeviceKind& kind, Limits stated) {
  // The time that a given candidate needs is unknown, so a launch has far more than in a search.
  constexpr double kMinRunS = 60;
  if (stated.load.count() == 0) stated.load = milliseconds_of(kind.load_deadline_s);
  if (stated.run.count() == 0) stated.run = milliseconds_of(std::max(kMinRunS, kind.run_deadline_s));
  return stated;
}

std::vector<TimedCandidate> time_interleaved(Executor& executor, const Problem& problem,
                                             std::span<const Candidate> candidates, const InterleavedOptions& options) {
  const DeviceKind& kind = device_kind(executor.device().kind);
  const Limits limits = limits_on(kind, options.limits);
  Protocol protocol = options.protocol;
  protocol.timing = kind.timing;
  const auto opened = open(
      executor, {kId, problem, std::move(protocol), std::vector(candidates.begin(), candidates.end())}, options.tick);
  if (!opened.refused.empty()) {
    executor.close(kId);
    fail(ErrorCode::unavailable, "{}", opened.refused);
  }
  std::vector<TimedCandidate> results(candidates.size());
  std::vector<Timed> alive;
  const auto stop = [&](size_t) { return options.tick && options.tick(); };
  auto built = options.kernels != nullptr ? options.kernels->build(problem, opened.contenders, candidates, stop)
                                          : std::vector<Kernels::BuildResult>(candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i) {
    const auto slot = static_cast<Slot>(i + 1);
    results[i].candidate = candidates[i];
    results[i].outcome = std::move(built[i].outcome);
    if (!results[i].outcome.ok()) continue;
    auto admitted = admit(executor,
                          {kId,
                           slot,
                           {.candidate = candidates[i],
                            .binaries = std::move(built[i].binaries),
                            .verify = true,
                            .twice = true,
                            .limits = limits,
                            .must_meet = i > 0 || !options.first_is_best_default,
                            .output = {}}},
                          options.tick);
    results[i].outcome = std::move(admitted.verified);
    if (results[i].outcome.ok())
      alive.push_back({&results[i], slot, admitted.batch, admitted.timing, admitted.bandwidth_gbs, {}});
  }
  if (options.protocol.require != Requirement::none && !alive.empty())
    compare_processes(executor, alive, limits, options.tick);
  time_alike(alive);
  std::vector<Timed*> timed;
  for (Timed& one : alive) timed.push_back(&one);
  time_and_recheck(executor, std::move(timed), limits, options);
  for (Timed& one : alive) {
    if (!one.result->outcome.ok() || options.rounds == 0) continue;
    fill_measurement(one);
    if (results.front().outcome.ok())
      compare_to_first(alive.front(), one);
    else
      one.result->comparison.ratio = 0;
  }
  executor.close(kId);
  return results;
}

}  // namespace attune
