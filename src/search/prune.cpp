// SPDX-License-Identifier: MIT
#include "search/prune.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/text.h"
#include "search/strategy/space_rules.h"

namespace attune {

uint64_t PruneResult::num_rejected_by(const std::string& rule) const {
  const auto found = rejected_by.find(rule);
  return found == rejected_by.end() ? 0 : found->second;
}

std::string PruneResult::count_text(const SearchSpace& space) const {
  if (!sampled) return counted_of(allowed.size(), space.size(), "config");
  uint64_t size = allowed.size();
  for (const auto& [rule, count] : rejected_by) size += count;
  return fmt::format("{} of a sample of {} of {} configs", allowed.size(), size, space.size());
}

PruneResult prune(const SearchSpace& space, const Problem& problem, const DeviceInfo& device, uint64_t seed,
                  uint64_t max_enumerated) {
  const SpaceRules rules(space, problem, device);
  PruneResult pruned;
  pruned.sampled = space.size() > max_enumerated;
  const auto consider = [&](uint64_t index) {
    if (const auto* rule = rules.rejects(index)) {
      ++pruned.rejected_by[rule->id];
    } else {
      pruned.allowed.push_back(index);
    }
  };
  if (!pruned.sampled) {
    rules.for_each_config(consider);
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
    const Rule* rule = SpaceRules(space, problem, device, RuleScope::kernels).rejects(*index);
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
