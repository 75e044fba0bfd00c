// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "attune/problem.h"
#include "core/device_info.h"
#include "formats/csv/table.h"

namespace attune {

/// Rows of this device that a person may have meant when none is the problem's own: those that differ in M alone, the
/// nearest first, then those of the same M, N and K that differ in a type or a flag. At most `at_most`; none for
/// problems without M, N and K. O(rows).
std::vector<const TableRow*> near_rows(const Table& table, const Problem& problem, const DeviceInfo& device,
                                       size_t at_most = 5);

}  // namespace attune
