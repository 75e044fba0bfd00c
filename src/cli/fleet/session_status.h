// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "store/fleet/fleet_store.h"

namespace attune {

/// How far a session is, as an object or on standard output.
nlohmann::ordered_json session_status_json(FleetStore& store, int64_t session);
void print_session_status(FleetStore& store, int64_t session);

/// Prints how far a session is: jobs by step and state, rate and time left, failures by class, and what waits for what.
/// Returns the exit status.
int run_session_status(int64_t session, bool json);

}  // namespace attune
