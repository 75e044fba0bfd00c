// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <span>
#include <vector>

#include "search/contest_options.h"
#include "search/contestants.h"

namespace attune {

/// Screens the candidates. Candidates join while it runs; after each round it drops those whose confidence bound shows
/// them slower than the leader. Baseline, incumbent and the best of each layout stay.
class Race {
 public:
  Race(RaceOptions options, Contestants& contestants);

  void join(Slot slot);
  void withdraw(Slot slot);
  /// The next rounds: one while others may join or a decision may follow it, several before the first decision. Empty
  /// when the race is over, unless another candidate joins.
  std::vector<Turn> next(bool joining);
  /// True while another round can change a decision; false if only a new candidate can.
  bool has_more() const;
  /// Counts the measured turns and drops slow candidates.
  void reported(std::span<const Turn> turns);

  std::span<const Slot> alive() const noexcept { return alive_; }
  /// Slots dropped since the last call.
  std::vector<Slot> take_dropped();
  /// Finalists among the candidates alive, by median: the best few, the best of each layout, baseline and incumbent,
  /// and each default config.
  std::vector<Slot> shortlist() const;

 private:
  uint32_t first_judged() const;
  uint32_t first_for(Slot slot, Slot leader, uint32_t first) const;
  bool is_slower(Slot slot, Slot leader) const;
  std::vector<Slot> kept() const;

  RaceOptions options_;
  Contestants& contestants_;
  std::vector<Slot> alive_, dropped_;
  /// Rounds per slot, with usable samples or not, so that the race ends whatever is measured.
  std::map<Slot, uint32_t> num_rounds_;
};

}  // namespace attune
