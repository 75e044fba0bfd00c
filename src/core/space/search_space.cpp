// SPDX-License-Identifier: MIT
#include "core/space/search_space.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "base/error.h"

namespace attune {
namespace {

constexpr uint64_t kMaxSize = uint64_t{1} << 63;
constexpr size_t kInactive = std::numeric_limits<size_t>::max();

void check_parameter(const Parameter& parameter) {
  if (parameter.values.empty()) {
    fail(ErrorCode::invalid_input, "a parameter needs at least one value, got none for '{}'", parameter.name);
  }
  std::set<std::string> seen;
  for (const auto& value : parameter.values) {
    const Config readable({{parameter.name, value}});  // throws for values that no table cell can hold
    if (!seen.insert(to_text(value)).second) {
      fail(ErrorCode::invalid_input, "a parameter must list each value once, got {} again", readable.key());
    }
  }
}

std::optional<Expression> parse_condition(const std::vector<Parameter>& parameters, size_t position) {
  const auto& parameter = parameters[position];
  if (parameter.active_if.empty()) return std::nullopt;
  auto condition = Expression::parse(parameter.active_if);
  for (const auto& name : condition.names()) {
    const auto end = parameters.begin() + static_cast<std::ptrdiff_t>(position);
    if (std::none_of(parameters.begin(), end, [&](const Parameter& before) { return before.name == name; })) {
      fail(ErrorCode::invalid_input, "active_if of a parameter reads only parameters before it, got '{}' for '{}'",
           name, parameter.name);
    }
  }
  return condition;
}

std::vector<Rule> checked_rules(std::vector<Rule> rules) {
  for (const auto& rule : rules) {
    try {
      Expression::parse(rule.expression);
    } catch (Error& error) {
      error.add_context("rule '" + rule.id + "'");
      throw;
    }
  }
  return rules;
}

std::vector<RuleSet> checked_sets(std::vector<RuleSet> sets) {
  std::set<std::string> seen;
  for (RuleSet& set : sets) {
    if (!seen.insert(set.name).second)
      fail(ErrorCode::invalid_input, "a space must name each rule set once, got '{}' again", set.name);
    set.rules = checked_rules(std::move(set.rules));
  }
  return sets;
}

bool is_ordered(const Parameter& parameter) {
  return std::all_of(parameter.values.begin(), parameter.values.end(),
                     [](const Value& value) { return number_of(value).has_value(); });
}

}  // namespace

SearchSpace SearchSpace::product(std::vector<Parameter> parameters, std::vector<Rule> rules,
                                 std::vector<RuleSet> sets) {
  SearchSpace space;
  if (parameters.empty()) space = listed(ConfigTable(1, {}));
  space.rules_ = checked_rules(std::move(rules));
  space.rule_sets_ = checked_sets(std::move(sets));
  if (parameters.empty()) return space;
  space.size_ = 1;
  std::set<std::string> names;
  for (size_t i = 0; i < parameters.size(); ++i) {
    check_parameter(parameters[i]);
    if (!names.insert(parameters[i].name).second) {
      fail(ErrorCode::invalid_input, "a space must name each parameter once, got '{}' again", parameters[i].name);
    }
    space.conditions_.push_back(parse_condition(parameters, i));
    if (parameters[i].values.size() > kMaxSize / space.size_) {
      fail(ErrorCode::invalid_input, "a space has at most 2^63 combinations, '{}' makes it larger", parameters[i].name);
    }
    space.size_ *= parameters[i].values.size();
  }
  space.parameters_ = std::move(parameters);
  return space;
}

SearchSpace SearchSpace::listed(ConfigTable configs) {
  SearchSpace space;
  space.size_ = configs.size();
  space.listed_ = std::move(configs);
  return space;
}

bool SearchSpace::operator==(const SearchSpace& other) const {
  return parameters_ == other.parameters_ && rules_ == other.rules_ && rule_sets_ == other.rule_sets_ &&
         meanings_ == other.meanings_ && features_ == other.features_ && listed_ == other.listed_;
}

std::vector<size_t> SearchSpace::digits_of(uint64_t index) const {
  if (index >= size_) fail(ErrorCode::invalid_input, "an index of this space is below {}, got {}", size_, index);
  std::vector<size_t> digits(parameters_.size());
  for (size_t i = parameters_.size(); i-- > 0;) {
    digits[i] = static_cast<size_t>(index % parameters_[i].values.size());
    index /= parameters_[i].values.size();
  }
  return digits;
}

uint64_t SearchSpace::index_of_digits(const std::vector<size_t>& digits) const {
  uint64_t index = 0;
  for (size_t i = 0; i < parameters_.size(); ++i) index = index * parameters_[i].values.size() + digits[i];
  return index;
}

bool SearchSpace::is_active(size_t parameter, const std::vector<const Value*>& before) const {
  if (!conditions_[parameter]) return true;
  const auto value = conditions_[parameter]->evaluate_if_known([&](std::string_view name) -> std::optional<Value> {
    for (size_t i = 0; i < before.size(); ++i) {
      if (parameters_[i].name == name) return before[i] ? std::optional<Value>(*before[i]) : std::nullopt;
    }
    return std::nullopt;
  });
  return value && *value != Value(int64_t{0});
}

std::vector<const Value*> SearchSpace::active_values(const std::vector<size_t>& digits) const {
  std::vector<const Value*> values;
  values.reserve(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    values.push_back(is_active(i, values) ? &parameters_[i].values[digits[i]] : nullptr);
  }
  return values;
}

std::vector<const Value*> SearchSpace::values_at(uint64_t index) const { return active_values(digits_of(index)); }

uint64_t SearchSpace::canonical(uint64_t index) const {
  const bool is_conditional = std::ranges::any_of(conditions_, [](const auto& one) { return one.has_value(); });
  if (index < size_ && !is_conditional) return index;
  auto digits = digits_of(index);
  const auto values = active_values(digits);
  for (size_t i = 0; i < digits.size(); ++i) {
    if (!values[i]) digits[i] = 0;
  }
  return index_of_digits(digits);
}

Config SearchSpace::at(uint64_t index) const {
  const auto values = values_at(index);
  if (is_listed()) return listed_.at(index);
  std::vector<std::pair<std::string, Value>> active;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]) active.emplace_back(parameters_[i].name, *values[i]);
  }
  return Config(std::move(active));
}

std::optional<uint64_t> SearchSpace::index_of(const Config& config) const {
  if (is_listed()) return listed_.find(config);
  std::vector<size_t> digits(parameters_.size(), 0);
  std::vector<const Value*> values;
  size_t num_active = 0;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto& parameter = parameters_[i];
    if (!is_active(i, values)) {
      values.push_back(nullptr);
      continue;
    }
    if (!config.has(parameter.name)) return std::nullopt;
    const auto found = std::find(parameter.values.begin(), parameter.values.end(), config.at(parameter.name));
    if (found == parameter.values.end()) return std::nullopt;
    digits[i] = static_cast<size_t>(found - parameter.values.begin());
    values.push_back(&*found);
    ++num_active;
  }
  if (num_active != config.values().size()) return std::nullopt;
  return index_of_digits(digits);
}

std::vector<uint64_t> SearchSpace::neighbours(uint64_t index) const {
  const uint64_t self = canonical(index);
  std::vector<uint64_t> found;
  if (is_listed()) {
    size_t fewest = kInactive;
    for (uint64_t other = 0; other < size_; ++other) {
      if (other == self) continue;
      const size_t differences = listed_.num_differences(self, other);
      if (differences < fewest) found.clear();
      if (differences <= fewest) found.push_back(other);
      fewest = std::min(fewest, differences);
    }
    return found;
  }
  const auto digits = digits_of(self);
  const auto values = active_values(digits);
  for (size_t i = 0; i < digits.size(); ++i) {
    if (!values[i]) continue;
    const bool ordered = is_ordered(parameters_[i]);
    for (size_t digit = 0; digit < parameters_[i].values.size(); ++digit) {
      const size_t step = digit > digits[i] ? digit - digits[i] : digits[i] - digit;
      if (step == 0 || (ordered && step > 1)) continue;
      auto moved = digits;
      moved[i] = digit;
      found.push_back(canonical(index_of_digits(moved)));
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

SearchSpace SearchSpace::with_values(std::string_view parameter, std::vector<Value> values) const {
  auto parameters = parameters_;
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const Parameter& candidate) { return candidate.name == parameter; });
  if (found == parameters.end()) fail(ErrorCode::not_found, "the space has no parameter '{}'", parameter);
  found->values = std::move(values);
  return product(std::move(parameters), rules_, rule_sets_).with_features(meanings_, features_);
}

std::vector<Rule> SearchSpace::search_rules() const {
  std::vector<Rule> all = rules_;
  if (!rule_sets_.empty()) all.insert(all.end(), rule_sets_.front().rules.begin(), rule_sets_.front().rules.end());
  return all;
}

SearchSpace SearchSpace::with_rule_set(std::string_view name, std::vector<Rule> more) const {
  SearchSpace space = *this;
  auto chosen =
      std::find_if(rule_sets_.begin(), rule_sets_.end(), [&](const RuleSet& one) { return one.name == name; });
  if (chosen == rule_sets_.end()) chosen = rule_sets_.begin();
  space.rule_sets_.clear();
  if (chosen != rule_sets_.end()) space.rule_sets_.push_back(*chosen);
  if (more.empty()) return space;
  if (space.rule_sets_.empty()) space.rule_sets_.push_back({std::string(name), {}});
  auto& rules = space.rule_sets_.front().rules;
  for (Rule& rule : checked_rules(std::move(more))) rules.push_back(std::move(rule));
  return space;
}

SearchSpace SearchSpace::with_features(std::vector<Meaning> meanings, std::vector<Feature> features) const {
  std::set<std::string> names;
  const auto note = [&](const std::string& name) {
    if (!names.insert(name).second)
      fail(ErrorCode::invalid_input, "a space must name each meaning and feature once, got '{}' again", name);
  };
  for (const Meaning& one : meanings) note(one.parameter + "." + one.name);
  for (const Feature& one : features) {
    note(one.name);
    try {
      Expression::parse(one.expression);
    } catch (Error& error) {
      error.add_context("feature '" + one.name + "'");
      throw;
    }
  }
  SearchSpace space = *this;
  space.meanings_ = std::move(meanings);
  space.features_ = std::move(features);
  return space;
}

}  // namespace attune
