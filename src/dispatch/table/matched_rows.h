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
  uint8_t layout = 0;   ///< Index of its group key.
};

/// The rows of one step, in the order in which they are tried.
template <size_t kLayouts>
class RankedRows {
 public:
  struct Row {
    MatchedRow row;
    uint32_t rank;
    float order;  ///< Inside a rank.
    bool operator<(const Row& other) const { return std::tie(rank, order) < std::tie(other.rank, other.order); }
  };
  void add(const Row& row) {
    // Insertion sort: there are few rows, and it is stable.
    size_t at = count_++;
    for (; at > 0 && row < rows_[at - 1]; --at) rows_[at] = rows_[at - 1];
    rows_[at] = row;
  }
  /// Calls `visit` with the rows until it returns true, and removes them all; returns whether it did.
  template <typename Visit>
  bool visit(const Visit& visit) {
    const size_t count = std::exchange(count_, 0);
    for (size_t i = 0; i < count; ++i) {
      if (visit(rows_[i].row)) return true;
    }
    return false;
  }

 private:
  std::array<Row, 2 * kLayouts> rows_;
  size_t count_ = 0;
};

/// Calls `visit` with the rows that match a lookup, in the order in which they are tried, until it returns true;
/// returns whether it did. This is the rule of every lookup: exact rows, then padded ones, then predicted ones with a
/// bound of at most `max_regret`; each row is followed by its alternates. `m`, `n`: sizes of the problem. `group_keys`:
/// its group keys in each layout of its weights, at most kLayouts. Rows of one step are visited fastest first,
/// predictions of several layouts with the smallest bound first. Allocates nothing.
template <size_t kLayouts, typename Visit>
bool visit_rows(const RowIndex& rows, int64_t m, int64_t n, bool pads_m, std::span<const GroupKey> group_keys,
                double max_regret, const Visit& visit) {
  const auto visit_alternates = [&](MatchedRow met) {
    const RowIndex::Row& first = rows.row(met.number);
    const float regret = met.regret;
    while ((met.number = rows.alternate(met.number)) != 0) {
      if (met.match == Match::predicted) {
        met.regret = (1 + regret) * rows.row(met.number).us / first.us - 1;
        if (met.regret > static_cast<float>(max_regret)) continue;
      }
      if (visit(met)) return true;
    }
    return false;
  };
  const auto visit_all = [&](const MatchedRow& met) { return visit(met) || visit_alternates(met); };
  // Loops over one group key are unrolled.
  const std::span<const GroupKey, kLayouts == 1 ? 1 : std::dynamic_extent> groups(group_keys);
  RankedRows<kLayouts> found;
  const LookupSteps steps(pads_m ? &rows.padding() : nullptr, m, n);
  for (const auto& step : steps) {
    // If the problem has no row of its own, prefetch the padded rows and those to predict from together.
    if (step.match == Match::padded_fine) {
      for (const GroupKey& group : groups) {
        rows.prefetch_group(group);
        if (&step != steps.end() - 1) rows.prefetch(group.with_m((&step)[1].m));
      }
    }
    for (size_t i = 0; i < groups.size(); ++i) {
      const uint32_t number = rows.find(groups[i].with_m(step.m));
      if (number == 0) continue;
      const MatchedRow met{step.match, number, 0, static_cast<uint8_t>(i)};
      if constexpr (kLayouts == 1) {
        if (visit_all(met)) return true;  // A single row needs no order, and its time would cost a cache miss.
      } else {
        found.add({met, 0, rows.row(number).us});
      }
    }
    if (kLayouts > 1 && found.visit(visit_all)) return true;
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    // The first choice of each layout comes before any second choice: its row is nearer, regardless of the bounds.
    uint32_t rank = 0;
    for (const auto& one : rows.predict(groups[i], m, max_regret)) {
      const MatchedRow met{Match::predicted, one.number, one.regret, static_cast<uint8_t>(i)};
      if constexpr (kLayouts == 1) {
        if (visit_all(met)) return true;
      } else {
        found.add({met, rank++, one.regret});
      }
    }
  }
  return kLayouts > 1 && found.visit(visit_all);
}

}  // namespace attune
