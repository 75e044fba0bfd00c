// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "measure/blocking_calls.h"
#include "search/contest.h"
#include "tuner/problem/cost_forecast.h"

namespace attune {

/// Takes one problem's samples from the executor and watches which worker they come from: only samples of one worker
/// are paired. Not thread-safe.
class Sampler {
 public:
  /// `present_epoch`: the executor's epoch as of its last answer; its other problems change it, too. `tick`: see
  /// blocking_calls.h. The arguments outlive this.
  Sampler(Executor& executor, uint32_t& present_epoch, const Tick& tick, CostForecast& forecast)
      : executor_(executor), present_epoch_(present_epoch), tick_(tick), forecast_(forecast) {}

  /// Called before each piece of a schedule with the time that the rest needs; false: it must not be spent, or the run
  /// ends.
  using MaySpend = std::function<bool(double seconds)>;
  /// Runs a schedule for the contest's phase. Short launches go to the executor in one piece. Long ones are split, so
  /// that the time they need is checked before it is spent, and an interrupt does not wait for all; the observer hears
  /// of each piece. Returns nullopt when the time ran out or after an interrupt; the samples are then void. They are
  /// void, too, if the result is interrupted or has failures.
  std::optional<SampleAnswer> sample(std::span<const Turn> schedule, const Contest& contest, const MaySpend& may_spend,
                                     const std::function<void()>& after_piece);
  /// Verifies the candidates of the last samples again, in the same worker. Nothing is proven if the result is
  /// interrupted.
  SampleAnswer recheck(std::vector<Turn> turns);
  /// The contest has taken the samples of a schedule, or discards all that could be paired with the next.
  void took(const Contest& contest) { pairing_ = contest.pairing(); }
  void discarded() { pairing_.reset(); }
  /// Whether the present worker has started since the last samples, for this problem or another.
  bool has_fresh_worker() const noexcept { return epoch_ != present_epoch_; }

  uint32_t epoch() const noexcept { return epoch_.value_or(0); }  ///< Worker of the last samples.
  uint64_t num_launches() const noexcept { return num_launches_; }
  uint32_t num_dropped() const noexcept { return num_dropped_; }  ///< Samples repeated because the clock was low.

 private:
  Executor& executor_;
  uint32_t& present_epoch_;
  const Tick& tick_;
  CostForecast& forecast_;
  std::optional<uint32_t> epoch_;
  std::optional<uint32_t> pairing_;  // Contest::pairing() of the samples taken last
  uint64_t num_launches_ = 0;
  uint32_t num_dropped_ = 0;
};

}  // namespace attune
