// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "campaign/tune_options.h"
#include "store/fleet/fleet_job.h"

namespace attune {

/// Options of `attune fleet run`.
struct FleetRunOptions {
  int64_t session = 0;
  std::vector<FleetStep> steps;  ///< Empty: all that the session has jobs of.
  /// Devices, journal, kernels, budget and method. Shapes and outputs are ignored.
  TuneOptions tune;
  std::string patience = "10m";  ///< How long to wait for a store that does not answer.
  std::string wait;              ///< How long to wait for jobs that agents of other steps must end first; empty: not.
};

}  // namespace attune
