// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "core/outcome.h"
#include "core/turn.h"

namespace attune {

/// Rounds first … last of a contest. Each phase reads its own range.
struct Rounds {
  uint32_t first = 1;
  uint32_t last = std::numeric_limits<uint32_t>::max();
  bool operator==(const Rounds&) const = default;
};

/// The usable samples of a contest, by slot and round, at most one per slot and round. Estimates use the clean samples,
/// or all samples while fewer than 3 are clean.
class SampleTable {
 public:
  static constexpr size_t kMinClean = 3;

  /// Rounds of a slot must ascend from call to call. A sample without a valid time (us = 0) is only counted.
  void add(Slot slot, uint32_t round, Sample sample);
  /// Removes rounds; their samples count as dropped.
  void discard(Rounds rounds);

  std::span<const Sample> samples(Slot slot, Rounds rounds = {}) const;
  uint32_t num_dropped(Slot slot) const;
  uint32_t num_clean(Slot slot, Rounds rounds = {}) const;
  /// Returns +inf without samples, so that the slot sorts behind all measured ones.
  double median_us(Slot slot, Rounds rounds = {}) const;

  /// ln(time of a / time of b) over the rounds in which both are clean (over all common rounds while fewer than 3 are
  /// clean).
  std::vector<double> log_ratios(Slot a, Slot b, Rounds rounds = {}) const;
  uint32_t num_clean_pairs(Slot a, Slot b, Rounds rounds = {}) const;

  /// Figures over several openings, each a range of rounds. log_ratios: one group an opening, which may be empty.
  /// median_us: geometric mean of the openings' medians, +inf without samples.
  std::vector<std::vector<double>> log_ratios(Slot a, Slot b, std::span<const Rounds> openings) const;
  uint32_t num_clean_pairs(Slot a, Slot b, std::span<const Rounds> openings) const;
  uint32_t num_clean(Slot slot, std::span<const Rounds> openings) const;
  double median_us(Slot slot, std::span<const Rounds> openings) const;

  /// Fraction of clean samples in some rounds; 1 without samples.
  double clean_share(Rounds rounds) const;
  /// Median speed of the clock kernel over some rounds; 0 if no sample has one.
  double median_clock(Rounds rounds) const;

 private:
  struct Track {
    std::vector<Sample> samples;
    uint32_t num_dropped = 0;
  };
  std::map<Slot, Track> tracks_;
};

/// Times used for a median: those of the clean samples, or of all samples while fewer than 3 are clean.
std::vector<double> usable_times(std::span<const Sample> samples);

}  // namespace attune
