// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "core/config.h"

namespace attune {

/// Thread counts worth trying on a device of `units` cores: powers of two and `units`.
inline std::vector<Value> thread_counts(int64_t units) {
  std::vector<Value> counts;
  for (int64_t count = 1; count < units; count *= 2) counts.emplace_back(count);
  counts.emplace_back(units);
  return counts;
}

}  // namespace attune
