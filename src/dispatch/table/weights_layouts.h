// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attune/gemm.h"
#include "attune/match.h"
#include "dispatch/table/key_codes.h"
#include "dispatch/table/lookup_steps.h"
#include "dispatch/table/row_index.h"

namespace attune {

/// The layouts of some weights' copies. A dispatcher has one object for each set and never frees it; two sets are equal
/// if their addresses are.
struct LayoutSet {
  static constexpr size_t kMax = 8;
  std::vector<std::string> names;
  std::vector<int64_t> codes;  ///< Codes of the layouts, in the order of `names`.
  int64_t code = 0;            ///< Code of the whole set, for answers; never 0, which means plain operands.

  /// Returns the half keys of a problem's rows, one for each layout.
  std::vector<HalfKey> halves(const KeyCodes& own, const GemmKey& key) const {
    const KeyCodes::Codes values = own.codes(key);
    std::vector<HalfKey> all;
    for (const int64_t one : codes) all.push_back(own.half(values, one));
    return all;
  }
};

/// A lookup request: a problem, and the layouts of its weights if they are packed ahead.
struct LookupRequest {
  GemmKey key;
  const LayoutSet* layouts = nullptr;  ///< Null: the weights are a plain operand.

  ProblemKey hash(const KeyCodes& codes) const noexcept {
    return layouts == nullptr ? codes.hash(key) : codes.half(codes.codes(key), layouts->code).with_m(key.m);
  }
};

/// A row that matches a lookup.
struct MatchedRow {
  Match match = Match::exact;
  uint32_t number = 0;
  float regret = 0;
  uint8_t layout = 0;  ///< Index of its half key.
};

/// Calls `visit` with the rows that match a lookup, until it returns true; returns whether it did. `halves`: half keys
/// of the problem in each layout of its weights, at most LayoutSet::kMax. Rows of the same step are visited fastest
/// first, predictions of several layouts with the smallest bound first. Allocates nothing.
template <typename Visit>
bool visit_rows(const RowIndex& rows, const GemmKey& key, bool pads_m, std::span<const HalfKey> halves,
                double max_regret, const Visit& visit) {
  struct RankedRow {
    MatchedRow row;
    float order = 0;
  };
  std::array<RankedRow, 2 * LayoutSet::kMax> found;
  size_t count = 0;
  const auto visit_found = [&] {
    // Insertion sort: there are few elements, and it is stable.
    for (size_t i = 1; i < count; ++i) {
      for (size_t j = i; j > 0 && found[j].order < found[j - 1].order; --j) std::swap(found[j], found[j - 1]);
    }
    for (size_t i = 0; i < count; ++i) {
      if (visit(found[i].row)) return true;
    }
    count = 0;
    return false;
  };
  for (const auto& step : LookupSteps(pads_m, key.m, key.n)) {
    for (size_t i = 0; i < halves.size(); ++i) {
      if (const uint32_t number = rows.find(halves[i].with_m(step.m)))
        found[count++] = {{step.match, number, 0, static_cast<uint8_t>(i)}, rows.row(number).us};
    }
    if (visit_found()) return true;
  }
  for (size_t i = 0; i < halves.size(); ++i) {
    // The first choice of each layout comes before any second choice: its row is nearer, regardless of the bounds.
    constexpr float kNextRank = 1000;  // Above all allowed bounds.
    float rank = 0;
    for (const auto& one : rows.predict(halves[i], key.m, max_regret)) {
      found[count++] = {{Match::predicted, one.number, one.regret, static_cast<uint8_t>(i)}, rank + one.regret};
      rank += kNextRank;
    }
  }
  return visit_found();
}

}  // namespace attune
