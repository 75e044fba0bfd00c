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

/// `not_before` of a queued job that waits for another one. Claims of a large session then skip such jobs by the index.
inline constexpr long long kBlocked = 1LL << 62;

/// The condition that a job `j` waits for no other one.
inline constexpr const char* kIsUnblocked =
    "(j.requires < 0 OR EXISTS (SELECT 1 FROM job r WHERE r.id = j.requires AND r.state NOT IN ('queued', 'leased')))"
    " AND (j.step <> 'perf_contest' OR NOT EXISTS (SELECT 1 FROM job o WHERE o.session = j.session"
    " AND o.configuration = j.configuration AND o.step IN ('perf_compile', 'perf_eval')"
    " AND o.state NOT IN ('done', 'failed', 'excluded')))";  // IN would choose the index by states.

/// Blocks or frees all queued jobs of a session that depend on others.
void update_blocked(FleetSql& sql, int64_t session);
/// Frees the jobs of a configuration that wait for none any longer.
void free_blocked(FleetSql& sql, int64_t session, const std::string& configuration);

/// Queues the ended contest of a configuration again, because one of its short lists will change. update_blocked() must
/// follow.
void reopen_contest(FleetSql& sql, int64_t session, const std::string& configuration);

}  // namespace attune
