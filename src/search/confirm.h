// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <vector>

#include "search/field.h"

namespace attune {

/// Who is compared in the confirmation, and what must be shown.
struct Claim {
  Slot winner = 0, baseline = 0;
  double min_gain = 0;  ///< By which fraction the winner must beat the baseline.
};

/// Tests the finals' winner against the baseline on samples that did not choose it: same rotation, later in time, a
/// one-sided group-sequential Wilcoxon test. After the look `narrow_after` the rotation shrinks to these and two
/// others.
class Confirm {
 public:
  Confirm(ConfirmOptions options, uint32_t max_pairs, Field& field, Claim claim, std::vector<Slot> finalists);

  /// Rounds up to the next look, taking the looks that are due; empty when decided.
  std::vector<Turn> next();
  bool accepted() const noexcept { return accepted_; }
  const Claim& claim() const noexcept { return claim_; }
  Rounds rounds() const noexcept { return {first_round_, field_.last_round()}; }
  /// Rounds of the rotation in use last: times in another mix of candidates are another quantity (0.6–2.5 %).
  Rounds mix_rounds() const noexcept { return {mix_first_, field_.last_round()}; }
  std::span<const Slot> mix() const noexcept { return mix_; }

 private:
  void narrow();
  bool is_proven() const;

  ConfirmOptions options_;
  Field& field_;
  Claim claim_;
  std::vector<Slot> mix_;
  std::vector<uint32_t> looks_;
  size_t look_ = 0;
  uint32_t num_rounds_ = 0;
  uint32_t first_round_, mix_first_;
  bool accepted_ = false;
};

/// Runs a rotation on until the slots that are published have enough clean samples in it (pairs, for two of them).
class Publish {
 public:
  /// `mix_first`: the round from which this rotation's samples count.
  Publish(uint32_t num_clean, Field& field, std::vector<Slot> mix, std::vector<Slot> published, uint32_t mix_first);
  /// Further rounds; empty when enough are clean, or after twice as many rounds.
  std::vector<Turn> next();
  Rounds rounds() const noexcept { return {mix_first_, field_.last_round()}; }

 private:
  uint32_t wanted_;
  Field& field_;
  std::vector<Slot> mix_, published_;
  uint32_t mix_first_;
  uint32_t num_rounds_;
};

}  // namespace attune
