// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <vector>

#include "search/field.h"

namespace attune {

/// The tied one to stand against the baseline: the incumbent if it is among them, else the fastest.
Slot choose(const Field& field, std::span<const Slot> tied, Rounds rounds);

/// What the end of a contest is made from.
struct Evidence {
  std::vector<Slot> finalists;
  std::vector<Rounds> rounds;  ///< Best first: a slot's figures come from the first that holds enough of it.
};
/// Figures of one finalist: its time, and the ratio of the baseline's time to it over common rounds.
FinalistResult figures_of(const Field& field, const Evidence& evidence, Slot slot);
/// Fills in all figures of a result whose winner, verdict and tied set are known.
void fill_figures(const Field& field, const Evidence& evidence, ContestResult& result);

}  // namespace attune
