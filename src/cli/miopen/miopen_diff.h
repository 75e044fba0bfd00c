// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace attune {

/// `attune diff` of two find-dbs. Throws invalid_input unless both are. Returns 0.
int run_find_db_diff(const std::string& before, const std::string& after, bool json);

}  // namespace attune
