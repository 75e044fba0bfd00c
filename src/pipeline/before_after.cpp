// SPDX-License-Identifier: MIT
#include "pipeline/before_after.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "device/device_kind.h"
#include "measure/blocking_calls.h"
#include "search/sample_table.h"
#include "tuner/interleaved.h"

namespace attune {
namespace {

constexpr ProblemId kChangeId = 0;
constexpr Slot kBefore = 1, kAfter = 2, kDefaultConfig = 3;

/// One attempt at one shape: its problem is open as long as this lives.
class Attempt {
 public:
  Attempt(ShapeChange& shape, Executor& executor, const BeforeAfterOptions& options)
      : shape_(shape),
        executor_(executor),
        options_(options),
        limits_(limits_on(device_kind(executor.device().kind), options.limits)),
        random_(derive_seed(options.seed, fmt::format("{} {}", shape.samples.attempts.size(), shape.problem.key()))) {}
  ~Attempt() { executor_.close(kChangeId); }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  /// Opens the problem and verifies the kernels; false if the old or the new one failed.
  bool prepare() {
    Protocol protocol = options_.protocol;
    protocol.timing = device_kind(executor_.device().kind).timing;
    std::vector<Candidate> candidates = {shape_.before.served, shape_.after.served};
    const Candidate& baseline = shape_.after.baseline;
    if (!baseline.solver.empty() && baseline != candidates[0] && baseline != candidates[1])
      candidates.push_back(baseline);
    const auto opened = open(executor_, {kChangeId, shape_.problem, std::move(protocol), candidates}, options_.tick);
    if (!opened.refused.empty()) return fail_with(opened.refused);
    const auto stop = [&](size_t) { return is_stopped(); };
    auto built = options_.kernels != nullptr
                     ? options_.kernels->build(shape_.problem, opened.contenders, candidates, stop)
                     : std::vector<Kernels::BuildResult>(candidates.size());
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (!admit_one(static_cast<Slot>(i + 1), candidates[i], std::move(built[i]))) return false;
    }
    for (Turn& turn : turns_) timing_ = std::min(timing_, turn.timing);
    return true;
  }

  /// One opening: a fresh worker and its clean pairs, and the kernels are verified again; false if a kernel failed, or
  /// the run was stopped.
  bool measure(std::vector<ChangePairs>& openings) {
    SampleTable samples;
    Recheck checked = Recheck::repeat;
    for (int tries = 0; checked == Recheck::repeat; ++tries) {
      if (tries == kMostTries)
        return fail_with("the worker ended each time while the kernels were verified again, run it on a quiet machine");
      samples = SampleTable();
      if (!take_samples(samples)) return false;
      checked = recheck();
    }
    if (checked == Recheck::failed) return false;
    openings.push_back(samples.log_ratios(kBefore, kAfter));
    const auto note = [&](Slot slot, std::vector<double>& us) {
      if (has(slot) && !samples.samples(slot).empty()) us.push_back(samples.median_us(slot));
    };
    const Candidate& baseline = shape_.after.baseline;
    note(kBefore, shape_.before_us);
    note(kAfter, shape_.after_us);
    note(baseline == shape_.before.served  ? kBefore
         : baseline == shape_.after.served ? kAfter
                                           : kDefaultConfig,
         shape_.default_us);
    return true;
  }

 private:
  static constexpr int kMostTries = 3;
  /// repeat: the worker that timed the kernels is gone, so the contents of its buffers are unknown.
  enum class Recheck : uint8_t { right, repeat, failed };

  bool is_stopped() const { return options_.tick && options_.tick(); }
  bool has(Slot slot) const { return std::ranges::find(turns_, slot, &Turn::slot) != turns_.end(); }

  /// False if a kernel failed, or the run was stopped.
  bool take_samples(SampleTable& samples) {
    recycle(executor_, options_.tick);
    uint32_t num_rounds = 0;
    while (num_rounds < 2 * options_.change.pairs) {
      const uint32_t num_clean = num_rounds == 0 ? 0 : samples.num_clean_pairs(kBefore, kAfter);
      if (num_clean >= options_.change.pairs) break;
      const uint32_t num_more = std::min(options_.change.pairs - num_clean, 2 * options_.change.pairs - num_rounds);
      if (!sample_rounds(num_rounds + 1, num_more, samples)) return false;
      num_rounds += num_more;
    }
    return true;
  }

  /// Verifies the kernels again in the buffers in which they were timed.
  Recheck recheck() {
    std::vector<Turn> checks;
    for (const Turn& turn : turns_)
      checks.push_back({.slot = turn.slot, .launches = 1 + kCallsInARow, .limit = limits_.run});
    random_.shuffle(checks);
    const SampleAnswer answer = sample(executor_, {std::move(checks), true}, options_.tick);
    if (!note_failed(answer)) return Recheck::failed;
    if (is_stopped()) {
      fail_with("the run was stopped");
      return Recheck::failed;
    }
    // A wrong default may have spoilt the others' results, so the opening is repeated, too.
    const bool is_right = answer.failed.empty() && !answer.interrupted && answer.epoch == epoch_;
    return is_right ? Recheck::right : Recheck::repeat;
  }

  /// False if the old or the new kernel failed. A default that fails is dropped.
  bool note_failed(const SampleAnswer& answer) {
    for (const auto& [slot, outcome] : answer.failed) {
      if (slot != kDefaultConfig) return fail_with(fmt::format("{}: {}", name(outcome.status), outcome.detail));
      std::erase_if(turns_, [](const Turn& turn) { return turn.slot == kDefaultConfig; });
    }
    return true;
  }

  bool fail_with(std::string why) {
    shape_.reason = why;
    shape_.samples.why_failed = std::move(why);
    return false;
  }

  /// False if the kernel is the old or the new one and failed.
  bool admit_one(Slot slot, const Candidate& candidate, Kernels::BuildResult built) {
    Outcome outcome = std::move(built.outcome);
    if (outcome.ok()) {
      auto admitted = admit(executor_,
                            {kChangeId,
                             slot,
                             {.candidate = candidate,
                              .binaries = std::move(built.binaries),
                              .verify = true,
                              .twice = true,
                              .limits = limits_,
                              .must_meet = false,
                              .output = {}}},
                            options_.tick);
      outcome = std::move(admitted.verified);
      if (outcome.ok())
        turns_.push_back({slot, 0, admitted.batch, turn_limit(admitted.batch, limits_), admitted.timing});
    }
    if (outcome.ok() || slot == kDefaultConfig) return true;
    return fail_with(fmt::format("{}, {}: {}", candidate.name(), name(outcome.status), outcome.detail));
  }

  bool sample_rounds(uint32_t first, uint32_t count, SampleTable& samples) {
    std::vector<Turn> schedule;
    for (uint32_t round = first; round < first + count; ++round) {
      random_.shuffle(turns_);
      for (Turn turn : turns_) {
        turn.round = round;
        turn.timing = timing_;
        schedule.push_back(turn);
      }
    }
    const SampleAnswer answer = sample(executor_, {std::move(schedule)}, options_.tick);
    epoch_ = answer.epoch;
    if (!note_failed(answer)) return false;
    if (is_stopped()) return fail_with("the run was stopped");
    // A death voids the schedule. The candidate that caused it has one more try, in the missing rounds.
    if (answer.interrupted) return true;
    for (size_t i = 0; i < answer.turns.size(); ++i)
      samples.add(answer.turns[i].slot, answer.turns[i].round, answer.samples[i]);
    return true;
  }

  ShapeChange& shape_;
  Executor& executor_;
  const BeforeAfterOptions& options_;
  const Limits limits_;
  Random random_;
  std::vector<Turn> turns_;
  Timing timing_ = Timing::graph;
  uint32_t epoch_ = 0;  ///< Of the worker that took the last samples.
};

/// False if it was stopped.
bool take_openings(ShapeChange& shape, Executor& executor, const BeforeAfterOptions& options) {
  const auto is_stopped = [&] { return options.tick && options.tick(); };
  try {
    Attempt attempt(shape, executor, options);
    if (!attempt.prepare()) return !is_stopped();
    auto& openings = shape.samples.attempts.emplace_back();
    do {
      if (is_stopped()) return false;
      if (!attempt.measure(openings)) return !is_stopped();
    } while (next_step(shape.samples, options.change) == ChangeStep::opening);
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::device) throw;
    shape.reason = shape.samples.why_failed = error.what();
  }
  return !is_stopped();
}

/// Whether Attune's own stand-in served, over which a gain is no evidence.
bool had_nothing(const ServedKernel& before) { return before.row.empty() && before.baseline.solver.empty(); }

void measure_attempt(ShapeChange& shape, Executor& executor, const BeforeAfterOptions& options) {
  if (take_openings(shape, executor, options) && options.measured) options.measured(shape);
}

}  // namespace

ShapeChange shape_change(const Problem& problem, const TableLookup& before, const TableLookup& after,
                         Executor& executor, const Tick& tick) {
  ShapeChange shape{.problem = problem};
  try {
    shape.before = served_kernel(before, problem, executor, tick);
    shape.after = served_kernel(after, problem, executor, tick);
    if (shape.before.served == shape.after.served)
      shape.reason = "the kernel is the same";
    else if (had_nothing(shape.before))
      shape.reason = "without a row before, and without a library that serves it, there is nothing to compare with";
  } catch (const Error& error) {
    shape.reason = shape.samples.why_failed = error.what();
  }
  return shape;
}

bool is_to_be_measured(const ShapeChange& shape, const ChangeOptions& options) {
  return shape.reason.empty() && next_step(shape.samples, options) != ChangeStep::done;
}

void measure_changes(std::vector<ShapeChange>& shapes, Executor& executor, const BeforeAfterOptions& options) {
  for (ShapeChange& shape : shapes) {
    if (shape.reason.empty() && !shape.is_measured()) measure_attempt(shape, executor, options);
  }
  for (ShapeChange& shape : shapes) {
    if (shape.is_measured() && next_step(shape.samples, options.change) == ChangeStep::second_attempt)
      measure_attempt(shape, executor, options);
  }
}

std::vector<ChangeResult> judge(const std::vector<ShapeChange>& shapes, const ChangeOptions& options) {
  // A shape that keeps its kernel is no test, so that it does not widen the others' intervals.
  std::vector<size_t> places;
  std::vector<ChangeSamples> tested;
  std::vector<ChangeResult> results(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    const ShapeChange& shape = shapes[i];
    const bool keeps = shape.samples.why_failed.empty() && shape.before.served == shape.after.served;
    const bool is_new = shape.samples.why_failed.empty() && had_nothing(shape.before);
    results[i] = {.verdict = keeps    ? Change::same
                             : is_new ? Change::no_default
                                      : Change::failed,
                  .interval = {},
                  .attempts = {}};
    if (keeps || !shape.is_measured()) continue;
    places.push_back(i);
    tested.push_back(shape.samples);
  }
  auto judged = judge_changes(tested, options);
  for (size_t i = 0; i < places.size(); ++i) results[places[i]] = std::move(judged[i]);
  return results;
}

}  // namespace attune
