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

/// Rounds first … last of a contest. Each phase looks at its own.
struct Rounds {
  uint32_t first = 1;
  uint32_t last = std::numeric_limits<uint32_t>::max();
};

/// The usable samples of a contest, by slot and round; a round holds at most one of a slot. Estimates use the clean
/// samples, or all of them while fewer than 3 are clean.
class SampleTable {
 public:
  static constexpr size_t kMinClean = 3;

  /// Rounds of a slot ascend from call to call. A sample whose time is no time (us = 0) is only counted.
  void add(Slot slot, uint32_t round, Sample sample);
  /// Takes rounds back; their samples count as dropped.
  void discard(Rounds rounds);

  std::span<const Sample> samples(Slot slot, Rounds rounds = {}) const;
  uint32_t num_dropped(Slot slot) const;
  uint32_t num_clean(Slot slot, Rounds rounds = {}) const;
  /// +inf when there is nothing: it sorts behind everything that was measured.
  double median_us(Slot slot, Rounds rounds = {}) const;

  /// ln(time of a / time of b) over the rounds in which both are clean (in which both are, while fewer than 3 are).
  std::vector<double> log_ratios(Slot a, Slot b, Rounds rounds = {}) const;
  uint32_t num_clean_pairs(Slot a, Slot b, Rounds rounds = {}) const;

  /// Fraction of the samples of some rounds that are clean; 1 when there are none.
  double clean_share(Rounds rounds) const;
  /// Median speed of the clock kernel over some rounds; 0 where no sample carries one.
  double median_clock(Rounds rounds) const;

 private:
  struct Track {
    std::vector<Sample> samples;
    uint32_t num_dropped = 0;
  };
  std::map<Slot, Track> tracks_;
};

/// Times a median may use: those of the clean samples, or all of them while fewer than 3 are clean.
std::vector<double> usable_times(std::span<const Sample> samples);

}  // namespace attune
