// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "attune/problem.h"
#include "core/device_info.h"
#include "formats/csv/table.h"

namespace attune {

/// Returns similar rows of this device for a problem without a row of its own: first those that differ in the family's
/// rows alone, nearest first, then those of the same sizes but another type or flag. Returns at most `max_count` rows;
/// none for a family without rows. O(rows of the table).
std::vector<const TableRow*> near_rows(const Table& table, const Problem& problem, const DeviceInfo& device,
                                       size_t max_count = 5);

}  // namespace attune
