// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "store/fleet/fleet_store.h"

namespace attune {

struct ApplicabilityCounts {
  size_t num_configurations = 0;
  size_t num_applicable = 0, num_pairs = 0;  ///< Of configurations with the session's solvers of their op.
};

/// Asks every solver of a session about every configuration of a tag (empty: all) on the session's device, which need
/// not be here, and stores the answers. Throws invalid_input where the store has no such configurations, and for a
/// session with a solver that this program lacks.
ApplicabilityCounts update_applicability(FleetStore& store, int64_t session, const std::string& tag);

}  // namespace attune
