// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "core/device_info.h"
#include "core/search_space.h"

namespace attune {

/// What a space's rules leave. Spaces above `max_enumerated` are sampled (seeded) down to it: said in `sampled`.
struct Pruned {
  std::vector<uint64_t> allowed;                ///< Ascending; duplicates through inactive parameters left out.
  std::map<std::string, uint64_t> rejected_by;  ///< Rule id → configs it rejected first.
  bool sampled = false;
};
/// Variables: the config's parameters, `problem.<attribute>` (a number if it is one, else a text), `device.num_units`,
/// `device.cache_bytes`, `device.memory_bytes` and `device.<fact>`. A rule that reads an inactive parameter does not
/// apply. Throws invalid_input naming the rule when an expression cannot be evaluated. About 1 µs a config and rule.
Pruned prune(const SearchSpace& space, const Problem& problem, const DeviceInfo& device, uint64_t seed,
             uint64_t max_enumerated = 1'000'000);

/// Why a config is none of a space's: an unknown or missing parameter, a value that is not offered, a rule broken.
/// Nothing if it is one.
std::optional<std::string> why_outside(const SearchSpace& space, const Config& config, const Problem& problem,
                                       const DeviceInfo& device);

}  // namespace attune
