// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/record.h"

namespace attune {

/// The layout of the weights that a config reads: its `b_layout`, `plain` without one.
std::string layout_of(const Config& config);
inline std::string layout_of(const Candidate& candidate) { return layout_of(candidate.config); }
/// Whether the weights of a problem are packed ahead (bpreshuffle=1), once for every M.
bool has_packed_weights(const Problem& problem);
/// What the rows of one weight group have in common: the problem's key without M.
std::string weight_group_of(const Problem& problem);

/// A row of a weight group: what its contest found, and how often it is called.
struct GroupRow {
  const Decision* decision = nullptr;
  double calls = 1;
};
/// What a table says of a row.
struct GroupPick {
  Candidate candidate;
  double us = 0;
  Errors errors;
};
struct GroupChoice {
  std::string layout;            ///< Of all rows; empty when no layout has a finalist in each of them.
  std::vector<GroupPick> picks;  ///< One a row, in their order.
};

/// The layout in which the rows of one weight group take the least Σ calls·time, a layout's time in a row being the
/// baseline's over its ratio. The layout of the baselines, if they share one, gives way only to a gain of more than
/// `min_gain`. In the layout chosen, a row gets its winner; where that has another layout, its baseline if no finalist
/// of the layout is faster by min_gain in the whole interval, else the best of these. Without a common layout every row
/// gets its winner. Pure.
GroupChoice choose_layout(std::span<const GroupRow> rows, double min_gain);

}  // namespace attune
