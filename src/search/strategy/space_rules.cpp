// SPDX-License-Identifier: MIT
#include "search/strategy/space_rules.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace attune {

SpaceFacts space_facts(const Problem& problem, const DeviceInfo& device) {
  SpaceFacts facts;
  for (const auto& [name, value] : problem.attributes()) facts["problem." + name] = parse_value(value);
  for (const auto& [name, value] : device.facts) facts["device." + name] = value;
  facts["device.num_units"] = device.num_units;
  facts["device.cache_bytes"] = device.cache_bytes;
  facts["device.memory_bytes"] = device.memory_bytes;
  return facts;
}

SpaceRules::SpaceRules(const SearchSpace& space, const Problem& problem, const DeviceInfo& device, RuleScope scope)
    : space_(space), facts_(space_facts(problem, device)) {
  add(space.rules());
  if (scope == RuleScope::search && !space.rule_sets().empty()) add(space.rule_sets().front().rules);
}

void SpaceRules::add(std::span<const Rule> rules) {
  for (const auto& rule : rules) {
    auto expression = Expression::parse(rule.expression);
    for (const auto& name : expression.names()) {
      if (!facts_.contains(name) && !is_parameter(name)) {
        fail(ErrorCode::invalid_input,
             "rule '{}' reads neither a parameter nor a known fact of "
             "problem or device: '{}'",
             rule.id, name);
      }
    }
    checks_.push_back({&rule, std::move(expression)});
  }
}

const Rule* SpaceRules::rejects(uint64_t index) const {
  if (checks_.empty()) return nullptr;
  const auto values = space_.values_at(index);
  const Config config = space_.is_listed() ? space_.at(index) : Config();
  const auto lookup = [&](std::string_view name) -> std::optional<Value> {
    const auto parameters = space_.parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].name == name) return values[i] ? std::optional<Value>(*values[i]) : std::nullopt;
    }
    if (space_.is_listed() && config.has(name)) return config.at(name);
    const auto fact = facts_.find(name);
    return fact == facts_.end() ? std::nullopt : std::optional<Value>(fact->second);
  };
  for (const auto& check : checks_) {
    try {
      const auto value = check.expression.evaluate_if_known(lookup);
      if (value && std::holds_alternative<std::string>(*value)) {
        fail(ErrorCode::invalid_input, "a rule must be true or false, got the text '{}'",
             std::get<std::string>(*value));
      }
      if (value && !Expression::is_true(*value)) return check.rule;
    } catch (Error& error) {
      error.add_context("rule '" + check.rule->id + "' for the config '" + space_.at(index).key() + "'");
      throw;
    }
  }
  return nullptr;
}

bool SpaceRules::is_parameter(const std::string& name) const {
  const auto parameters = space_.parameters();
  if (space_.is_listed()) return name.find('.') == std::string::npos;  // rows may lack an attribute
  return std::any_of(parameters.begin(), parameters.end(), [&](const Parameter& p) { return p.name == name; });
}

}  // namespace attune
