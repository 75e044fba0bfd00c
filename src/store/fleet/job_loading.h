// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>

#include "store/fleet/fleet_sql.h"
#include "store/fleet/fleet_store.h"

namespace attune {

/// Throws invalid_input unless some configuration has the tag.
void check_tag(FleetSql& sql, const std::string& tag);

/// Adds the jobs of a selection that are not there, inside a transaction of the caller. Returns how many. Throws
/// invalid_input for steps, a tag or solvers that cannot be loaded, with the command that must come first.
size_t load_jobs_into(FleetSql& sql, const JobLoad& load);

/// `not_before` of a queued job that waits for another one, and of a job that has ended. Claims of a large session then
/// skip such jobs by the index.
inline constexpr long long kBlocked = 1LL << 62, kEnded = kBlocked + 1;

/// Blocks the queued jobs of a session that depend on open ones, frees the others, and opens the contests of
/// configurations with open jobs again. On a server, call it again after the transaction that adds or resets jobs:
/// agents that end jobs at the same time do not see the new ones.
void settle_jobs(FleetSql& sql, int64_t session);
/// Frees the jobs of a configuration that wait for none any longer, inside a transaction of the caller. Agents that end
/// jobs of one configuration at once wait for each other.
void free_blocked(FleetSql& sql, int64_t session, const std::string& configuration);

/// Shortens a text and replaces what some database cannot store: bytes that are not UTF-8, and NUL.
std::string storable(std::string_view text);

}  // namespace attune
