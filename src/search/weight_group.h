// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/record.h"

namespace attune {

/// A row of a weight group: the decision of its contest, and how often it is called.
struct GroupRow {
  const Decision* decision = nullptr;
  double calls = 1;
};
/// Content of a table row.
struct GroupPick {
  Candidate candidate;
  Comparison comparison;  ///< With the baseline of its row.
  Errors errors;
};
struct GroupChoice {
  std::string layout;            ///< Layout of all rows; empty when none serves every row.
  std::vector<GroupPick> picks;  ///< One per row, in row order.
};

/// Chooses the candidate that has a time in every row of a weight group and the least product of times; nothing if none
/// has. `times_us`: by row, each above 0. Pure.
std::optional<Candidate> choose_config(std::span<const std::map<Candidate, double>> times_us);

/// Chooses the layout in which the rows of one weight group have the lowest Σ calls·time, where a layout's time in a
/// row is the baseline's time divided by its ratio. If the baselines share a layout, another one must gain more than
/// `min_gain` to replace it. In the chosen layout, a row gets its winner; if that has another layout, the best finalist
/// of the layout that was confirmed, else its baseline if that has the layout and nothing is required of kernels. A
/// layout in which some row has none of these is no choice. Without a common layout every row gets its winner. Pure.
GroupChoice choose_layout(std::span<const GroupRow> rows, double min_gain);

/// The decision of a row as its group publishes it: with the pick in the winner's place. The verdict on a baseline is
/// `baseline`: nothing of its layout is proven faster.
Decision published_decision(const Decision& own, const GroupPick& pick);

}  // namespace attune
