// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

namespace attune {

/// Current clock limits of a device, from its driver.
struct ClockState {
  double highest_ghz = 0;            ///< The clock at which Device::relative_clock() is 1; 0: unknown.
  std::vector<std::string> held_by;  ///< Limits that keep the clock below the highest: `power limit`; empty: none.
  std::string unknown;               ///< Why held_by is unknown; empty if it is known.
};

}  // namespace attune
