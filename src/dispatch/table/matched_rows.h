// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>

#include "attune/match.h"
#include "dispatch/table/lookup_steps.h"
#include "dispatch/table/row_index.h"

namespace attune {

/// A row that matches a lookup.
struct MatchedRow {
  Match match = Match::exact;
  uint32_t number = 0;  ///< Of the row in its index; 0: none.
  float regret = 0;     ///< Bound on the regret of a predicted row.
  uint8_t layout = 0;   ///< Index of its half key.
};

/// The sizes of a problem that a lookup changes or pads by.
struct LookupShape {
  int64_t m = 0, n = 0;
};

/// Calls `visit` with the rows that match a lookup, in the order in which they are tried, until it returns true;
/// returns whether it did. This is the rule of every lookup: exact rows, then padded ones, then predicted ones with a
/// bound of at most `max_regret`. `halves`: half keys of the problem in each layout of its weights, at most kLayouts.
/// Rows of one step are visited fastest first, predictions of several layouts with the smallest bound first. Allocates
/// nothing.
template <size_t kLayouts, typename Visit>
bool visit_rows(const RowIndex& rows, const LookupShape& shape, bool pads_m, std::span<const HalfKey> halves,
                double max_regret, const Visit& visit) {
  struct RankedRow {
    MatchedRow row;
    uint32_t rank;
    float order;
    bool operator<(const RankedRow& other) const { return std::tie(rank, order) < std::tie(other.rank, other.order); }
  };
  std::array<RankedRow, 2 * kLayouts> found;
  size_t count = 0;
  const auto visit_found = [&] {
    // Insertion sort: there are few elements, and it is stable.
    for (size_t i = 1; i < count; ++i) {
      for (size_t j = i; j > 0 && found[j] < found[j - 1]; --j) std::swap(found[j], found[j - 1]);
    }
    for (size_t i = 0; i < count; ++i) {
      if (visit(found[i].row)) return true;
    }
    count = 0;
    return false;
  };
  const LookupSteps steps(pads_m, shape.m, shape.n);
  for (const auto& step : steps) {
    // If the problem has no row of its own, prefetch the padded rows and those to predict from together.
    if (step.match == Match::padded_fine) {
      for (const HalfKey& half : halves) {
        rows.prefetch_group(half);
        if (&step != steps.end() - 1) rows.prefetch(half.with_m((&step)[1].m));
      }
    }
    for (size_t i = 0; i < halves.size(); ++i) {
      if (const uint32_t number = rows.find(halves[i].with_m(step.m)))
        found[count++] = {{step.match, number, 0, static_cast<uint8_t>(i)}, 0, rows.row(number).us};
    }
    if (visit_found()) return true;
  }
  for (size_t i = 0; i < halves.size(); ++i) {
    // The first choice of each layout comes before any second choice: its row is nearer, regardless of the bounds.
    uint32_t rank = 0;
    for (const auto& one : rows.predict(halves[i], shape.m, max_regret))
      found[count++] = {{Match::predicted, one.number, one.regret, static_cast<uint8_t>(i)}, rank++, one.regret};
  }
  return visit_found();
}

}  // namespace attune
