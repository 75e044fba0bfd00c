// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

#include "formats/csv/table_diff.h"

namespace attune {

/// The difference of two tables as one HTML file that needs no network and no script: the numbers of rows, and a table
/// of the removed, added and changed rows. It has both times, and each cell that differs word by word. `before`,
/// `after`: names of the files, for the heading. Texts of the tables are escaped; the same difference gives the same
/// bytes.
std::string diff_html(const TableDiff& diff, std::string_view before, std::string_view after);

}  // namespace attune
