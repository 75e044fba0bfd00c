// SPDX-License-Identifier: MIT
#include "search/strategy/domain.h"

#include <algorithm>
#include <cmath>

namespace attune {
namespace {

double distance_of_values(const Parameter& parameter, const Value* a, const Value* b) {
  if (!a || !b) return a == b ? 0 : 1;
  if (*a == *b) return 0;
  if (!std::holds_alternative<int64_t>(*a) || !std::holds_alternative<int64_t>(*b)) return 1;
  // Both pointers point into the parameter's list.
  return std::abs(static_cast<double>(a - b)) / static_cast<double>(parameter.values.size() - 1);
}

}  // namespace

Domain::Domain(SearchSpace space, std::optional<std::vector<uint64_t>> allowed)
    : space_(std::move(space)), allowed_(std::move(allowed)) {}

bool Domain::contains(uint64_t index) const {
  if (index >= space_.size()) return false;
  if (allowed_) return std::binary_search(allowed_->begin(), allowed_->end(), index);
  return space_.canonical(index) == index;
}

double Domain::distance(uint64_t a, uint64_t b) const {
  if (space_.is_listed()) {
    const Config x = space_.at(a);
    const Config y = space_.at(b);
    size_t shared = 0;
    for (const auto& [name, value] : x.values()) shared += y.has(name) && y.at(name) == value;
    const size_t max_size = std::max(x.values().size(), y.values().size());
    return max_size == 0 ? 0 : 1 - static_cast<double>(shared) / static_cast<double>(max_size);
  }
  const auto x = space_.values_at(a);
  const auto y = space_.values_at(b);
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += distance_of_values(space_.parameters()[i], x[i], y[i]);
  return sum / static_cast<double>(x.size());
}

std::optional<uint64_t> RandomOrder::next() {
  if (exhausted()) return std::nullopt;
  const auto value_at = [&](uint64_t position) {
    const auto found = moved_.find(position);
    return found == moved_.end() ? position : found->second;
  };
  const uint64_t drawn = given_ + random_.below(size_ - given_);
  const uint64_t result = value_at(drawn);
  moved_[drawn] = value_at(given_);
  moved_.erase(given_);
  ++given_;
  return result;
}

}  // namespace attune
