// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <span>
#include <vector>

#include "search/field.h"

namespace attune {

/// Who stays in the screening. Candidates join while it runs; after each round those whose confidence bound shows them
/// slower than the leader drop out. Baseline, incumbent and the best of each layout stay.
class Race {
 public:
  Race(RaceOptions options, Field& field);

  void join(Slot slot);
  void withdraw(Slot slot);
  /// The next rounds: one while others may join or a decision may follow it, more before the first decision. Empty:
  /// over (if nothing joins).
  std::vector<Turn> next(bool joining);
  /// True while another round can change what is known of somebody; false: only a new candidate can.
  bool has_more() const;
  /// The turns were measured: counts them and drops the slow.
  void reported(std::span<const Turn> turns);

  std::span<const Slot> alive() const noexcept { return alive_; }
  /// Those that left since the last call.
  std::vector<Slot> take_dropped();
  /// The finalists of those alive: the best few, the best of each layout, baseline and incumbent; by median.
  std::vector<Slot> shortlist() const;

 private:
  uint32_t first_judged() const;
  uint32_t first_for(Slot slot, Slot leader, uint32_t first) const;
  bool is_slower(Slot slot, Slot leader) const;
  std::vector<Slot> kept() const;

  RaceOptions options_;
  Field& field_;
  std::vector<Slot> alive_, dropped_;
  /// Own rounds, whether their samples are usable or not: the race ends whatever is measured.
  std::map<Slot, uint32_t> num_rounds_;
};

}  // namespace attune
