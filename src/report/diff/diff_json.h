// SPDX-License-Identifier: MIT
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "formats/csv/table_diff.h"

namespace attune {

/// Returns the document of `attune diff --json`: the rows that were added, removed and changed, and the number of the
/// others, `same`.
nlohmann::ordered_json diff_json(const TableDiff& diff);

}  // namespace attune
