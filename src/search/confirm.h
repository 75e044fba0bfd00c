// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <vector>

#include "search/contest_options.h"
#include "search/field.h"

namespace attune {

/// The two slots compared in the confirmation, and the gain to be proven.
struct Claim {
  Slot winner = 0;
  Slot opponent = 0;    ///< The fastest untuned config, which may be the baseline.
  double min_gain = 0;  ///< Fraction by which the winner must beat the opponent.
};

/// Tests the winner of the finals against its opponent on samples that did not choose it: same rotation, later in time,
/// a one-sided group-sequential Wilcoxon test. After the look `narrow_after` the rotation shrinks to these two, the
/// baseline and others, four in all.
class Confirm {
 public:
  Confirm(ConfirmOptions options, uint32_t max_pairs, Field& field, Claim claim, std::vector<Slot> finalists);

  /// Takes the looks that are due and returns the rounds up to the next look; empty when decided.
  std::vector<Turn> next();
  bool accepted() const noexcept { return accepted_; }
  /// Tests another claim on the same samples. Requires: they did not choose its slots, and both are in mix().
  bool is_proven(const Claim& claim) const;
  const Claim& claim() const noexcept { return claim_; }
  Rounds rounds() const noexcept { return {first_round_, field_.last_round()}; }
  /// Rounds of the latest rotation. Times measured in another mix of candidates are not comparable (they differ by
  /// 0.6–2.5 %).
  Rounds mix_rounds() const noexcept { return {mix_first_, field_.last_round()}; }
  std::span<const Slot> mix() const noexcept { return mix_; }

 private:
  void narrow();

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

/// Continues a rotation until the published slots have enough clean samples in it (clean pairs if two slots are
/// published).
class Publish {
 public:
  /// `mix_first`: the first round of this rotation whose samples count.
  Publish(uint32_t num_clean, Field& field, std::vector<Slot> mix, std::vector<Slot> published, uint32_t mix_first);
  /// Further rounds; empty when enough samples are clean, or after twice that many rounds.
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
