// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "formats/csv/table.h"
#include "pipeline/finding.h"
#include "pipeline/table_input.h"

namespace attune {

/// Runs every check (pipeline/checks.h) on the tables of one family. Returns the findings by file in the order of the
/// table, line and kind. Runs no kernel, opens no library and changes nothing. Reads the rows in parts, so that it
/// needs little more memory than the files have bytes and the findings take. O(rows · log rows): about 10 µs a row.
std::vector<TableFinding> validate(const TableStream& table, const TableRules& rules);

}  // namespace attune
