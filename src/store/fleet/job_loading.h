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

/// Queues the ended contest of a configuration again, because one of its short lists will change.
void reopen_contest(FleetSql& sql, int64_t session, const std::string& configuration);

}  // namespace attune
