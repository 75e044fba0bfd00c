// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace attune {

/// Prints how far a session is: jobs by step and state, rate and time left, failures by class, and what waits for what.
/// Returns the exit status.
int run_session_status(int64_t session, bool json);

}  // namespace attune
