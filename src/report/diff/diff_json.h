// SPDX-License-Identifier: MIT
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "formats/csv/table_diff.h"

namespace attune {

/// Returns a row of the document of `attune diff --json`.
nlohmann::ordered_json change_json(const RowChange& change);

}  // namespace attune
