// SPDX-License-Identifier: MIT
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "fleet/exports/result_changes.h"

namespace attune {

/// Prints each change as a line, the worst first: `slower KEY: a.conv 0.4 ms → b.conv 0.5 ms, 0.800×`.
void print_changes(const ResultChanges& changes);
nlohmann::ordered_json changes_as_json(const ResultChanges& changes);

}  // namespace attune
