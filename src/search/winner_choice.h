// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <vector>

#include "search/contest_result.h"
#include "search/contestants.h"

namespace attune {

/// Picks the tied slot that is compared with the baseline: the incumbent if it is tied, else the fastest.
Slot choose(const Contestants& contestants, std::span<const Slot> tied, Rounds rounds);

/// Samples that the result of a contest is computed from.
struct Evidence {
  std::vector<Slot> finalists;
  std::vector<Rounds> openings;  ///< Openings that a slot's figures come from, if they hold enough samples of it.
  Rounds finals;                 ///< Rounds of the others' figures; without enough samples there either, all rounds.
};
/// Figures of one finalist: its time, and the ratio of the baseline's time to it over common rounds.
FinalistResult figures_of(const Contestants& contestants, const Evidence& evidence, Slot slot);
/// Fills in all figures of a result whose winner, verdict and tied set are known.
void fill_figures(const Contestants& contestants, const Evidence& evidence, ContestResult& result);

}  // namespace attune
