// SPDX-License-Identifier: MIT
#include "search/strategy/config_points.h"

#include <functional>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"

namespace attune {
namespace {

constexpr float kAbsent = -2;  // At least 1 from every coordinate.
/// So many configs, drawn at random, tell between what a feature lies.
constexpr uint64_t kNumSamples = 256;
constexpr uint64_t kMaxGrouped = 300'000;
constexpr size_t kMaxKnown = 65'536;  // Size of LogFeature::known.

std::vector<std::optional<Value>> numbers_of(const Meaning& meaning, std::span<const Value> values) {
  const std::map<Value, int64_t> known(meaning.numbers.begin(), meaning.numbers.end());
  std::vector<std::optional<Value>> numbers(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (const auto found = known.find(values[i]); found != known.end()) numbers[i] = Value(found->second);
  }
  return numbers;
}

}  // namespace

ConfigPoints::ConfigPoints(const SearchSpace& space, const Problem& problem, const DeviceInfo& device)
    : space_(space), facts_(space_facts(problem, device)) {
  const size_t num_positions = space.is_listed() ? space.table().columns().size() : space.parameters().size();
  for (size_t position = 0; position < num_positions; ++position) {
    const std::string& name =
        space.is_listed() ? space.table().columns()[position].name : space.parameters()[position].name;
    sources_[name] = {position, {}};
    const auto values = values_of(position);
    if (varies(position)) add(position, std::vector<std::optional<Value>>(values.begin(), values.end()));
    for (const Meaning& meaning : space.meanings()) {
      if (meaning.parameter == name) add_meaning(position, meaning);
    }
  }
  for (const Feature& feature : space.features()) {
    LogFeature one{
        .feature = &feature, .expression = Expression::parse(feature.expression), .positions = {}, .known = {}};
    one.positions = positions_read_by(one.expression);
    set_range(one);
    features_.push_back(std::move(one));
  }
}

std::span<const Value> ConfigPoints::values_of(size_t position) const {
  if (space_.is_listed()) return space_.table().columns()[position].values;
  return space_.parameters()[position].values;
}

bool ConfigPoints::varies(size_t position) const {
  if (space_.is_listed()) {
    const std::vector<uint32_t>& codes = space_.table().columns()[position].codes;
    return std::ranges::adjacent_find(codes, std::not_equal_to<>()) != codes.end();
  }
  const Parameter& parameter = space_.parameters()[position];
  return parameter.values.size() > 1 || !parameter.active_if.empty();
}

void ConfigPoints::add_meaning(size_t position, const Meaning& meaning) {
  auto numbers = numbers_of(meaning, values_of(position));
  if (varies(position)) add(position, numbers);
  sources_[meaning.parameter + "." + meaning.name] = {position, std::move(numbers)};
}

/// Adds a coordinate. Equal values, as several ids may stand for, have the same.
void ConfigPoints::add(size_t position, std::span<const std::optional<Value>> values) {
  Scale scale{.position = position, .coordinates = std::vector<float>(values.size(), kAbsent)};
  std::vector<double> numbers;
  bool are_numbers = true;
  for (const auto& value : values) {
    if (!value) continue;
    const auto number = number_of(*value);
    are_numbers = are_numbers && number.has_value();
    if (number) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  const auto last = static_cast<float>(std::max<size_t>(2, numbers.size()) - 1);
  const auto rank_of = [&](const Value& value) {
    return static_cast<float>(std::ranges::lower_bound(numbers, *number_of(value)) - numbers.begin());
  };
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]) scale.coordinates[i] = are_numbers ? rank_of(*values[i]) / last : static_cast<float>(i);
  }
  scales_.push_back(std::move(scale));
}

std::vector<size_t> ConfigPoints::positions_read_by(const Expression& expression) const {
  std::set<size_t> read;
  for (const std::string& name : expression.names()) {
    if (const auto found = sources_.find(name); found != sources_.end()) read.insert(found->second.position);
  }
  return {read.begin(), read.end()};
}

void ConfigPoints::set_range(LogFeature& feature) const {
  double min = std::numeric_limits<double>::infinity(), max = -min;
  Random random(derive_seed(0, feature.feature->name));
  for (uint64_t i = 0; i < kNumSamples && space_.size() > 0; ++i) {
    const auto value = value_of(feature, codes_of(random.below(space_.size())));
    if (!value) continue;
    min = std::min(min, std::log2(static_cast<double>(*value)));
    max = std::max(max, std::log2(static_cast<double>(*value)));
  }
  if (min < max) {
    feature.min = min;
    feature.range = max - min;
  }
}

ConfigPoints::Codes ConfigPoints::codes_of(uint64_t index) const {
  Codes codes;
  if (space_.is_listed()) {
    for (const ConfigTable::Column& column : space_.table().columns()) codes.push_back(column.codes[index]);
    return codes;
  }
  const auto values = space_.values_at(index);
  // Each points into the parameter's list.
  for (size_t i = 0; i < values.size(); ++i) {
    codes.push_back(values[i] == nullptr ? 0
                                         : static_cast<size_t>(values[i] - space_.parameters()[i].values.data()) + 1);
  }
  return codes;
}

std::optional<uint64_t> ConfigPoints::key_of(std::span<const size_t> positions, const Codes& codes) const {
  uint64_t key = 0;
  for (const size_t position : positions) {
    const uint64_t num_codes = values_of(position).size() + 1;
    if (key > (std::numeric_limits<uint64_t>::max() - num_codes) / num_codes) return std::nullopt;
    key = key * num_codes + codes[position];
  }
  return key;
}

/// Nothing where the config lacks the feature. A search goes on without what a solver says wrongly of a config.
std::optional<int64_t> ConfigPoints::value_of(const LogFeature& feature, const Codes& codes) const {
  const auto lookup = [&](std::string_view name) -> std::optional<Value> {
    if (const auto found = sources_.find(name); found != sources_.end()) {
      const Source& source = found->second;
      const size_t code = codes[source.position];
      if (code == 0) return std::nullopt;
      return source.numbers.empty() ? values_of(source.position)[code - 1] : source.numbers[code - 1];
    }
    const auto fact = facts_.find(name);
    return fact == facts_.end() ? std::nullopt : std::optional<Value>(fact->second);
  };
  try {
    const auto value = feature.expression.evaluate_if_known(lookup);
    const auto* const number = value ? std::get_if<int64_t>(&*value) : nullptr;
    return number != nullptr && *number > 0 ? std::optional(*number) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<ConfigPoints::Group> ConfigPoints::groups_by_estimate(const Domain& domain) const {
  const auto estimate = std::ranges::find_if(features_, [](const LogFeature& one) { return one.feature->is_estimate; });
  if (estimate == features_.end() || !domain.is_enumerated() || domain.size() > kMaxGrouped) return {};
  std::unordered_map<uint64_t, size_t> known;
  std::vector<Group> groups;
  for (uint64_t position = 0; position < domain.size(); ++position) {
    const uint64_t index = domain.index(position);
    const Codes codes = codes_of(index);
    const auto key = key_of(estimate->positions, codes);
    if (!key) return {};
    const auto [found, is_new] = known.try_emplace(*key, groups.size());
    if (is_new) groups.push_back({value_of(*estimate, codes).value_or(0), {}});
    groups[found->second].configs.push_back(index);
  }
  std::erase_if(groups, [](const Group& one) { return one.estimate == 0; });
  std::ranges::stable_sort(groups, {}, &Group::estimate);
  return groups;
}

float ConfigPoints::coordinate_of(LogFeature& feature, const Codes& codes) const {
  const auto evaluate = [&] {
    const auto value = value_of(feature, codes);
    if (!value) return kAbsent;
    const double log = std::log2(static_cast<double>(*value));
    return static_cast<float>(std::clamp((log - feature.min) / feature.range, 0.0, 1.0));
  };
  const auto key = key_of(feature.positions, codes);
  if (!key) return evaluate();
  if (const auto found = feature.known.find(*key); found != feature.known.end()) return found->second;
  const float coordinate = evaluate();
  if (feature.known.size() < kMaxKnown) feature.known.emplace(*key, coordinate);
  return coordinate;
}

std::vector<float> ConfigPoints::at(uint64_t index) {
  const Codes codes = codes_of(index);
  std::vector<float> point;
  point.reserve(num_coordinates());
  for (const Scale& scale : scales_) {
    const size_t code = codes[scale.position];
    point.push_back(code == 0 ? kAbsent : scale.coordinates[code - 1]);
  }
  for (LogFeature& feature : features_) point.push_back(coordinate_of(feature, codes));
  return point;
}

}  // namespace attune
