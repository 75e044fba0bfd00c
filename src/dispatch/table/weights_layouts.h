// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attune/dispatcher.h"
#include "dispatch/table/key_codes.h"
#include "dispatch/table/lookup_steps.h"
#include "dispatch/table/row_index.h"

namespace attune {

/// Layouts that the copies of some weights are in. A dispatcher has one object for each set, for good: two are the same
/// when their addresses are.
struct LayoutSet {
  static constexpr size_t kMax = 8;
  std::vector<std::string> names;
  std::vector<int64_t> codes;  ///< Of rows in them, by name.
  int64_t code = 0;            ///< Of answers for all of them; never 0, which stands for plain operands.

  /// Of a problem's rows, by layout.
  std::vector<HalfKey> halves(const KeyCodes& own, const GemmKey& key) const {
    const KeyCodes::Codes values = own.codes(key);
    std::vector<HalfKey> all;
    for (const int64_t one : codes) all.push_back(own.half(values, one));
    return all;
  }
};

/// What an answer is for: a problem, and where its weights are packed ahead, the layouts that they are in.
struct LookupRequest {
  GemmKey key;
  const LayoutSet* layouts = nullptr;  ///< Null: the weights are an operand.

  ProblemKey hash(const KeyCodes& codes) const noexcept {
    return layouts == nullptr ? codes.hash(key) : codes.half(codes.codes(key), layouts->code).with_m(key.m);
  }
};

/// A row that a lookup meets.
struct MatchedRow {
  Match match = Match::exact;
  uint32_t number = 0;
  float regret = 0;
  uint8_t layout = 0;  ///< Index of its half key.
};

/// Calls `visit` with the rows that a lookup meets, until it returns true; returns whether it did. `halves`: of the
/// problem in each layout of its weights, at most LayoutSet::kMax. Of several at one step the fastest comes first, of
/// several layouts' predictions that with the smallest bound. Allocates nothing.
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
    // By hand: few, and what is equal stays in order.
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
    // The first choice of each layout before any second one: its row is nearer, whatever the bounds are.
    constexpr float kNextRank = 1000;  // Above all bounds that are allowed.
    float rank = 0;
    for (const auto& one : rows.predict(halves[i], key.m, max_regret)) {
      found[count++] = {{Match::predicted, one.number, one.regret, static_cast<uint8_t>(i)}, rank + one.regret};
      rank += kNextRank;
    }
  }
  return visit_found();
}

}  // namespace attune
