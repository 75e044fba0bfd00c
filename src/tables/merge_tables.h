// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

namespace attune {

struct TablesOptions {
  std::vector<std::string> tables;  ///< Of merge; none: the run time's.
  std::string op, device, output;
  bool json = false;
};

/// `attune tables merge`: writes of each key, layout and device the row that the run time would take, in the order of
/// the files, with the columns of the first file and then those that only others have. Says where the rows came from.
/// Throws invalid_input, and then nothing was written: a wrong table, an output that is one of the inputs or something
/// else than a table of the family, nothing to merge.
int merge_tables(const TablesOptions& options);

}  // namespace attune
