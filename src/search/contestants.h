// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "core/turn.h"
#include "search/entrant.h"
#include "search/sample_table.h"

namespace attune {

/// The entrants of a contest, their samples, and the contest's only random generator.
class Contestants {
 public:
  explicit Contestants(uint64_t seed);

  /// Adds an entrant, or makes a known one the baseline.
  void add(const Entrant& entrant);
  void remove(Slot slot);
  bool has(Slot slot) const { return entrants_.contains(slot); }
  const Entrant& entrant(Slot slot) const;
  std::optional<Slot> baseline() const;
  std::optional<Slot> incumbent() const;
  bool is_protected(Slot slot) const;                                     ///< Baseline or incumbent.
  bool is_default(Slot slot) const;                                       ///< The baseline, or a library's own config.
  std::vector<Slot> slots() const;                                        ///< Ascending.
  std::vector<Slot> possible_winners(std::span<const Slot> slots) const;  ///< Those that may win, in their order.

  /// Schedules `num_rounds` further rounds: one turn of each slot, each round in a new random permutation. (A
  /// palindromic order, in which the neighbours never change, is biased by up to 1 %.)
  std::vector<Turn> schedule(std::span<const Slot> slots, uint32_t num_rounds);
  uint32_t last_round() const noexcept { return last_round_; }  ///< Last round scheduled; numbers are never reused.

  SampleTable& samples() noexcept { return samples_; }
  const SampleTable& samples() const noexcept { return samples_; }

  /// All samples of a slot in some rounds, with median and spread. Samples of a discarded block are only counted.
  Measurement measurement(Slot slot, Rounds rounds) const;
  /// Slots ordered by median over some rounds. Ties are broken by less workspace, then by name.
  std::vector<Slot> ranked(std::span<const Slot> slots, Rounds rounds) const;
  /// The first of ranked(). Requires: `slots` is not empty.
  Slot best(std::span<const Slot> slots, Rounds rounds) const;
  /// The best of each layout.
  std::vector<Slot> best_of_layouts(std::span<const Slot> slots, Rounds rounds) const;

 private:
  std::map<Slot, Entrant> entrants_;
  SampleTable samples_;
  Random random_;
  uint32_t last_round_ = 0;
};

inline bool contains(std::span<const Slot> slots, Slot slot) {
  for (const Slot candidate : slots) {
    if (candidate == slot) return true;
  }
  return false;
}

}  // namespace attune
