// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>

#include "report/row_summary.h"

namespace attune {

struct TableSet;

/// The rows of tables with what becomes of each, of all devices, as row_statuses() says without a device. About 10 µs a
/// row.
RowSummaries row_summaries(const TableSet& set);
/// Those of the `named` tables, else of the run time's; read and refused as by read_table_set().
RowSummaries read_row_summaries(std::span<const std::string> named);

}  // namespace attune
