// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/record.h"

namespace attune {

/// The medians that candidates of one problem had when their race ended, dropped or not.
class RaceTimes {
 public:
  void add(const Candidate& candidate, double us, uint64_t workspace_bytes) {
    if (us > 0) times_[candidate.name()] = {candidate, us, workspace_bytes};
  }
  std::optional<double> us_of(const Candidate& candidate) const;
  /// The best of each solver that has no finalist, by solver.
  std::vector<DroppedBest> dropped_bests(const std::set<std::string>& solvers_in_final) const;

 private:
  std::map<std::string, DroppedBest> times_;  ///< By Candidate::name().
};

/// The fastest of the untuned configs beside the winner: by the final's times where it was a finalist, else by the
/// race's of both. Nothing when no pair of times can be compared.
std::optional<BestUntuned> best_untuned(const Decision& decision, const std::vector<Candidate>& untuned,
                                        const RaceTimes& race);

}  // namespace attune
