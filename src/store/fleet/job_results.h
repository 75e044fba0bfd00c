// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "store/fleet/fleet_sql.h"
#include "store/fleet/fleet_store.h"

namespace attune {

/// Why a configuration has no decision, one sentence; empty: it has no jobs.
std::string why_missing(FleetSql& sql, int64_t session, const std::string& configuration);

/// Adds the finalists and kernels of a job that has decided.
void read_results(FleetSql& sql, long long job, FleetAnswer& answer);

}  // namespace attune
