// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "core/group_estimate.h"
#include "core/record.h"
#include "search/contest_options.h"
#include "search/contestants.h"

namespace attune {

/// One-sided level of each look of a confirm.
double look_level(const ConfirmOptions& options) noexcept;

/// The next step towards a number of openings: a fresh worker, or turns; neither when they are complete.
struct OpeningStep {
  bool needs_fresh_worker = false;
  std::vector<Turn> turns;
  bool is_done() const noexcept { return !needs_fresh_worker && turns.empty(); }
};

/// Rounds of one rotation in several openings: each begins in a fresh worker, and only samples of one are paired. A
/// kernel's time may differ from opening to opening by more than any noise, and stay there.
class Openings {
 public:
  /// `pairs`: clean pairs that the first of the watched slots must have with each other one in an opening (clean
  /// samples if it is alone). An opening ends after twice as many rounds in any case.
  Openings(Contestants& contestants, std::vector<Slot> mix, std::vector<Slot> watched, uint32_t pairs);

  /// The next step to `count` complete openings.
  OpeningStep next(uint32_t count);
  /// Begins an opening: the next samples are of a fresh worker.
  void renewed();
  /// Discards the opening that is under way. A new worker, or the one that came after a death, must replace it.
  void interrupt() { first_.reset(); }
  /// Counts up to the number of openings begun, the interrupted ones included.
  uint32_t num_begun() const noexcept { return num_begun_; }
  std::span<const Rounds> complete() const noexcept { return complete_; }
  std::span<const Slot> mix() const noexcept { return mix_; }
  /// ln(time of a / time of b) over the complete openings. Requires: both are in the mix.
  GroupEstimate log_ratio(Slot a, Slot b) const;

 private:
  uint32_t missing_rounds() const;

  Contestants& contestants_;
  std::vector<Slot> mix_, watched_;
  uint32_t pairs_;
  std::vector<Rounds> complete_;
  std::optional<uint32_t> first_;  ///< First round of the opening under way.
  uint32_t num_rounds_ = 0, num_begun_ = 0;
};

/// A slot, the slots that it must beat, and the gain to be proven over each.
struct Claim {
  Slot winner = 0;
  std::vector<Slot> to_beat;
  double min_gain = 0;                ///< As a fraction.
  Verdict verdict = Verdict::faster;  ///< Verdict of the contest if the claim is proven.
};

/// Tests claims on samples that did not choose them: later in time, in several openings. A claim is proven
/// if its gain over each slot to beat exceeds the required one in a one-sided test that counts openings which differ by
/// their number, and openings which agree by their samples. It is given up as soon as one of its gains is estimated
/// below the required one, or after the last opening; then the next claim is tested on the same samples.
class Confirm {
 public:
  /// `claims`: in the order of preference, all their slots in `mix`. `max_pairs`: cap on clean pairs, 0: none.
  /// `min_pairs`: clean pairs with each slot to beat, without which nothing is proven.
  Confirm(ConfirmOptions options, uint32_t max_pairs, uint32_t min_pairs, Contestants& contestants,
          std::vector<Claim> claims, std::vector<Slot> mix);

  /// The next step; done when decided.
  OpeningStep next();
  void renewed() { openings_.renewed(); }
  void interrupt() { openings_.interrupt(); }
  const Claim& first_claim() const noexcept { return claims_.front(); }
  /// The claim that was proven; null if none was.
  const Claim* accepted() const noexcept { return accepted_ ? &claims_[claim_] : nullptr; }
  /// Tests another claim on the same samples. Requires: they did not choose its slots, and all are in the mix.
  bool is_proven(const Claim& claim) const { return test(claim) == Result::proven; }
  const Openings& openings() const noexcept { return openings_; }
  /// The fewest clean pairs of a claim's winner with one of the slots to beat, if those are too few to prove it.
  std::optional<uint32_t> too_few_pairs(const Claim& claim) const;

 private:
  enum class Result : uint8_t { proven, open, refuted };
  Result test(const Claim& claim) const;
  void judge();

  ConfirmOptions options_;
  Contestants& contestants_;
  std::vector<Claim> claims_;
  Openings openings_;
  uint32_t num_wanted_, max_openings_, min_pairs_;
  size_t claim_ = 0;  ///< Under test, or accepted.
  bool accepted_ = false;
};

}  // namespace attune
