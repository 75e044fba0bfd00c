// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace attune {

/// Values of the flags that a line leaves out: MIOpenDriver's own, or the older importer's (batch size 32).
enum class DriverDefaults : uint8_t { miopen, mituna };

struct DriverOptions {
  std::vector<int64_t> batches;  ///< Each line once for each of these batch sizes; empty: as the line says.
  std::string command;           ///< `convfp16`: the operator of all convolutions; empty: as the line says.
  DriverDefaults defaults = DriverDefaults::miopen;
  bool strict = false;  ///< The first line that is no convolution is an error.
};

}  // namespace attune
