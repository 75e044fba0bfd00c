// SPDX-License-Identifier: MIT
#include "measure/bitwise/repeated_launches.h"

#include <optional>

#include "base/hash.h"
#include "measure/bitwise/core_contention.h"

namespace attune {

RepeatedOutput compare_launches(const HashOfLaunch& launch, size_t num_cores, const std::string& expected) {
  RepeatedOutput found;
  const Hash128 first = launch(0);
  found.hash = first.hex();
  if (!expected.empty() && found.hash != expected) {
    found.fault = "its result differs from that in another process";
    return found;
  }
  std::optional<CoreContention> contention;
  for (uint32_t index = 1; index < kQuietLaunches + kDisturbedLaunches; ++index) {
    if (index == kQuietLaunches && num_cores > 0) contention.emplace(num_cores, first.low);
    if (launch(index) == first) continue;
    found.fault = contention ? "its result changes while other threads take its cores"
                             : "its result changes from launch to launch";
    return found;
  }
  return found;
}

}  // namespace attune
