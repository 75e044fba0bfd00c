// SPDX-License-Identifier: MIT
#include "search/strategy/config_points.h"

#include <numeric>

namespace attune {
namespace {

constexpr float kAbsent = -2;  // At least 1 from every coordinate.

}  // namespace

ConfigPoints::ConfigPoints(const SearchSpace& space) : space_(space) {
  if (space.is_listed()) {
    const auto columns = space.table().columns();
    for (size_t i = 0; i < columns.size(); ++i) add(i, columns[i].values);
  } else {
    const auto parameters = space.parameters();
    for (size_t i = 0; i < parameters.size(); ++i) add(i, parameters[i].values);
  }
}

void ConfigPoints::add(size_t position, std::span<const Value> values) {
  const bool are_numbers = std::ranges::all_of(values, [](const Value& value) { return number_of(value).has_value(); });
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (are_numbers) {
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return *number_of(values[a]) < *number_of(values[b]); });
  }
  Scale scale{.position = position, .coordinates = std::vector<float>(values.size())};
  const auto last = static_cast<float>(std::max<size_t>(1, values.size() - 1));
  for (size_t rank = 0; rank < order.size(); ++rank) {
    scale.coordinates[order[rank]] = are_numbers ? static_cast<float>(rank) / last : static_cast<float>(rank);
  }
  scales_.push_back(std::move(scale));
}

std::vector<float> ConfigPoints::at(uint64_t index) const {
  std::vector<float> point;
  point.reserve(scales_.size());
  if (space_.is_listed()) {
    const auto columns = space_.table().columns();
    for (const Scale& scale : scales_) {
      const uint32_t code = columns[scale.position].codes[index];
      point.push_back(code == 0 ? kAbsent : scale.coordinates[code - 1]);
    }
    return point;
  }
  const auto values = space_.values_at(index);
  for (const Scale& scale : scales_) {
    const Value* const value = values[scale.position];
    // It points into the parameter's list.
    point.push_back(
        value == nullptr
            ? kAbsent
            : scale.coordinates[static_cast<size_t>(value - space_.parameters()[scale.position].values.data())]);
  }
  return point;
}

}  // namespace attune
