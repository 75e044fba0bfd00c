// SPDX-License-Identifier: MIT
#include "server/journal/newest_results.h"

#include <functional>
#include <ranges>

namespace attune {

size_t ResultPlaceHash::operator()(const ResultPlace& place) const noexcept {
  const std::hash<std::string_view> hash;
  return (hash(place.problem) * 31 + hash(place.device)) * 31 + static_cast<size_t>(place.require);
}

NewestResults::NewestResults(const std::vector<std::shared_ptr<const ResultRow>>& rows) {
  by_place_.reserve(rows.size());
  for (const auto& row : rows | std::views::reverse) {
    if (by_place_.try_emplace({row->problem, row->device, row->require}, row.get()).second) rows_.push_back(row);
  }
}

const ResultRow* NewestResults::find(const ResultPlace& place) const {
  const auto found = by_place_.find(place);
  return found == by_place_.end() ? nullptr : found->second;
}

}  // namespace attune
