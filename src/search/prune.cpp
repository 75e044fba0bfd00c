// SPDX-License-Identifier: MIT
#include "search/prune.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "core/expression.h"

namespace attune {
namespace {

using Facts = std::map<std::string, Value, std::less<>>;

/// Facts that are the same for every config.
Facts facts_of(const Problem& problem, const DeviceInfo& device) {
  Facts facts;
  for (const auto& [name, value] : problem.attributes()) facts["problem." + name] = parse_value(value);
  for (const auto& [name, value] : device.facts) facts["device." + name] = value;
  facts["device.num_units"] = device.num_units;
  facts["device.cache_bytes"] = device.cache_bytes;
  facts["device.memory_bytes"] = device.memory_bytes;
  return facts;
}

/// A rule, parsed once for all configs.
struct Check {
  const Rule* rule;
  Expression expression;
};

class Pruner {
 public:
  Pruner(const SearchSpace& space, Facts facts) : space_(space), facts_(std::move(facts)) {
    for (const auto& rule : space.rules()) {
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

  /// Returns the first rule that rejects a config; null if it is allowed.
  const Rule* rejects(uint64_t index) const {
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
        if (value && std::get<int64_t>(*value) == 0) return check.rule;
      } catch (Error& error) {
        error.add_context("rule '" + check.rule->id + "' for the config '" + space_.at(index).key() + "'");
        throw;
      }
    }
    return nullptr;
  }

 private:
  bool is_parameter(const std::string& name) const {
    const auto parameters = space_.parameters();
    if (space_.is_listed()) return name.find('.') == std::string::npos;  // rows may lack an attribute
    return std::any_of(parameters.begin(), parameters.end(), [&](const Parameter& p) { return p.name == name; });
  }

  const SearchSpace& space_;
  Facts facts_;
  std::vector<Check> checks_;
};

}  // namespace

uint64_t Pruned::num_rejected_by(const std::string& rule) const {
  const auto found = rejected_by.find(rule);
  return found == rejected_by.end() ? 0 : found->second;
}

Pruned prune(const SearchSpace& space, const Problem& problem, const DeviceInfo& device, uint64_t seed,
             uint64_t max_enumerated) {
  const Pruner pruner(space, facts_of(problem, device));
  Pruned pruned;
  pruned.sampled = space.size() > max_enumerated;
  const auto consider = [&](uint64_t index) {
    if (const auto* rule = pruner.rejects(index)) {
      ++pruned.rejected_by[rule->id];
    } else {
      pruned.allowed.push_back(index);
    }
  };
  if (!pruned.sampled) {
    for (uint64_t index = 0; index < space.size(); ++index) {
      if (space.canonical(index) == index) consider(index);
    }
    return pruned;
  }
  Random random(derive_seed(seed, "prune"));
  std::set<uint64_t> drawn;
  for (uint64_t i = 0; i < max_enumerated; ++i) drawn.insert(space.canonical(random.below(space.size())));
  for (const uint64_t index : drawn) consider(index);
  return pruned;
}

std::optional<std::string> why_outside(const SearchSpace& space, const Config& config, const Problem& problem,
                                       const DeviceInfo& device) {
  const auto index = space.index_of(config);
  if (index) {
    const Rule* rule = Pruner(space, facts_of(problem, device)).rejects(*index);
    if (rule == nullptr) return std::nullopt;
    return fmt::format("rule {} excludes the config, {}: '{}'", rule->id, rule->reason, config.key());
  }
  for (const auto& [name, value] : config.values()) {
    const auto parameters = space.parameters();
    if (space.is_listed()) break;
    if (std::none_of(parameters.begin(), parameters.end(), [&](const Parameter& one) { return one.name == name; })) {
      return fmt::format("the solver has no parameter of that name, see `attune list candidates`: '{}'", name);
    }
  }
  return fmt::format("the solver does not offer this config on this device, see `attune list candidates`: '{}'",
                     config.key());
}

}  // namespace attune
