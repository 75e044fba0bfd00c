// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "core/device_info.h"
#include "core/space/expression.h"
#include "core/space/search_space.h"

namespace attune {

/// What the expressions of a space read beside parameters: `problem.<attribute>` (a number if it parses as one, else a
/// text), `device.num_units`, `device.cache_bytes`, `device.memory_bytes` and `device.<fact>`.
using SpaceFacts = std::map<std::string, Value, std::less<>>;
SpaceFacts space_facts(const Problem& problem, const DeviceInfo& device);

/// Which rules of a space apply: those of its kernels, SearchSpace::rules(), or SearchSpace::search_rules().
enum class RuleScope : uint8_t { kernels, search };

/// The rules of a space for one problem and device, parsed once for all configs. Variables of a rule: the config's
/// parameters, and SpaceFacts. A rule that reads an inactive parameter does not apply. Const members are thread-safe.
class SpaceRules {
 public:
  /// `space` outlives this. Throws invalid_input for a rule that reads neither a parameter nor a known fact.
  SpaceRules(const SearchSpace& space, const Problem& problem, const DeviceInfo& device,
             RuleScope scope = RuleScope::search);
  /// The first rule that rejects the config of an index; null if none does. Throws invalid_input naming the rule when
  /// an expression cannot be evaluated. Costs about 1 µs per rule.
  const Rule* rejects(uint64_t index) const;
  /// Calls visit(index) for the first index of each config of the space, ascending. O(size of the space).
  template <typename Visit>
  void for_each_config(const Visit& visit) const {
    for (uint64_t index = 0; index < space_.size(); ++index) {
      if (space_.canonical(index) == index) visit(index);
    }
  }

 private:
  struct Check {
    const Rule* rule;
    Expression expression;
  };
  void add(std::span<const Rule> rules);
  bool is_parameter(const std::string& name) const;

  const SearchSpace& space_;
  SpaceFacts facts_;  ///< The same for every config.
  std::vector<Check> checks_;
};

}  // namespace attune
