// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

namespace attune {

struct TablesOptions {
  std::vector<std::string> tables;  ///< For merge; empty: the run time's.
  std::string op, device, output;
  bool json = false;
};

/// Implements `attune tables merge`: writes, for each key, layout and device, the row that the run time would use. Rows
/// are in the order of the files; the columns are those of the first file, then those that only others have. Prints
/// where the rows came from. Throws invalid_input, before anything is written, for a wrong table, an output that is one
/// of the inputs or is no table of the family, and when there is nothing to merge.
int merge_tables(const TablesOptions& options);

}  // namespace attune
