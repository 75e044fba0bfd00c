// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

namespace attune {

/// What a device's driver says of its clock at the moment.
struct ClockState {
  double highest_ghz = 0;            ///< What Device::relative_clock() is relative to; 0: unknown.
  std::vector<std::string> held_by;  ///< What keeps the clock below the highest: `power limit`; empty: nothing.
  std::string unknown;               ///< Why held_by is not known; empty if it is.
};

}  // namespace attune
