// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "store/query.h"

namespace attune {

/// Returns a condition on the table `entries`, and the values of its parameters in order. It selects what matches()
/// does; of schema 1, whose table does not say all of it, also other entries.
std::pair<std::string, std::vector<std::string>> condition_of(const Query& query, bool is_schema_1);

/// Returns the clause that names the index for a query of decisions alone: SQLite's planner prefers the one of all
/// kinds, which takes ten times as long. Empty for other queries.
std::string index_of(const Query& query, bool is_schema_1);

}  // namespace attune
