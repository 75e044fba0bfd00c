// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "core/device_info.h"
#include "core/space/search_space.h"

namespace attune {

/// Configs that remain after the rules that a search applies. Of a space above `max_enumerated`, they are those of a
/// sample (seeded) of at most as many configs; `sampled` is then true, and all numbers are of the sample.
struct PruneResult {
  std::vector<uint64_t> allowed;                ///< Ascending; without duplicates caused by inactive parameters.
  std::map<std::string, uint64_t> rejected_by;  ///< Rule id → configs it rejected first.
  bool sampled = false;
  /// Number of configs that the rule with this id rejected first.
  uint64_t num_rejected_by(const std::string& rule) const;
  /// For a person: `24 of 48 configs`, of a sample `612 of a sample of 1000 of 1099511627776 configs`.
  std::string count_text(const SearchSpace& space) const;
};
/// Applies the rules of a space (search/strategy/space_rules.h), for lists of its configs; a search evaluates them
/// where it looks (search/strategy/domain.h). Throws like SpaceRules. Costs about 1 µs per config and rule.
PruneResult prune(const SearchSpace& space, const Problem& problem, const DeviceInfo& device, uint64_t seed,
                  uint64_t max_enumerated = 1'000'000);

/// Reason why a config does not belong to a space: an unknown or missing parameter, a value that is not offered, or a
/// broken rule of its kernels. A rule set only advises searches. nullopt if the config belongs to the space.
std::optional<std::string> why_outside(const SearchSpace& space, const Config& config, const Problem& problem,
                                       const DeviceInfo& device);

}  // namespace attune
