// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/journal/result_index.h"

namespace attune {

/// What a decision is about: a row of a table answers the same question if it has the same place.
struct ResultPlace {
  std::string_view problem, device;
  Requirement require = Requirement::none;
  bool operator==(const ResultPlace&) const = default;
};
struct ResultPlaceHash {
  size_t operator()(const ResultPlace& place) const noexcept;
};

/// The newest decision of each place. Never changed, so threads share it.
class NewestResults {
 public:
  /// `rows`: as ResultIndex::rows() gives them. Takes some 0.5 µs a row.
  explicit NewestResults(const std::vector<std::shared_ptr<const ResultRow>>& rows);

  /// Null for a place without a decision.
  const ResultRow* find(const ResultPlace& place) const;
  /// All, the newest first.
  const std::vector<std::shared_ptr<const ResultRow>>& rows() const noexcept { return rows_; }

 private:
  std::vector<std::shared_ptr<const ResultRow>> rows_;
  std::unordered_map<ResultPlace, const ResultRow*, ResultPlaceHash> by_place_;  ///< Its keys lie in rows_.
};

}  // namespace attune
