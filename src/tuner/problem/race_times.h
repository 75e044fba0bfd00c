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

/// Medians that the candidates of one problem had at the end of their race, dropped or not.
class RaceTimes {
 public:
  void add(const Candidate& candidate, double us, uint64_t workspace_bytes) {
    if (us > 0) times_[candidate.name()] = {candidate, us, workspace_bytes};
  }
  std::optional<double> us_of(const Candidate& candidate) const;
  /// Returns the fastest candidates, at most `count`.
  std::vector<Candidate> fastest(size_t count) const;
  /// Returns the best candidate of each solver that has no finalist, by solver.
  std::vector<DroppedBest> dropped_bests(const std::set<std::string>& solvers_in_final) const;

 private:
  std::map<std::string, DroppedBest> times_;  ///< By Candidate::name().
};

/// Returns the fastest of the default configs, compared with the winner: finalists by the pairs of the final, others by
/// the times of the race. nullopt if no pair of times can be compared.
std::optional<BestDefault> best_default(const Decision& decision, const std::vector<Candidate>& default_config,
                                        const RaceTimes& race);

}  // namespace attune
