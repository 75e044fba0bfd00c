// SPDX-License-Identifier: MIT
#pragma once

/// What differs between databases: everything else of a fleet's store is plain SQL.
namespace attune::fleet_dialect {

/// The database's time, in milliseconds since 1970: agents of several machines share no other clock.
inline constexpr const char* kNow = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)";

/// The id that the last INSERT of this connection gave.
inline constexpr const char* kLastId = "SELECT last_insert_rowid()";

/// Claims jobs: conditions {0}, now {1}. A claim is one statement in a transaction that excludes other writers, and it
/// must have ended before the commit.
inline constexpr const char* kClaim =
    "UPDATE job SET state = 'leased', lease_token = lease_token + 1, lease_until = {1} + :lease, agent = :agent"
    " WHERE id IN (SELECT j.id FROM job j WHERE {0} ORDER BY j.not_before, j.id LIMIT :max)"
    " RETURNING id, configuration, solver, lease_token, attempts";

}  // namespace attune::fleet_dialect
