// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>

#include "core/device_info.h"
#include "formats/csv/csv_document.h"

namespace attune {

/// A find-db as a table of `conv`: for each key the fastest solver of Attune. Ids of such solvers have a dot. A find-db
/// states no version, so rows name kAnyVersion. The perf-db's text in the same folder (`gfx90878.db.txt`) gives the
/// configs; without it they are the default configs.
struct FindDbTable {
  /// Each row has the number of its key's line if the header counts as line 0.
  std::string csv;
  size_t num_rows = 0;
  size_t num_foreign = 0;     ///< Entries of other solvers.
  std::string first_foreign;  ///< The first of them; empty: none.
};

/// Skips keys that name no problem, and unusable times. `device`: for names of files, see
/// device_of_miopen_file(); null: the name must state it in decimal or be an AMD device's. Throws invalid_input, like
/// FindDb::read_with_defects(), and for a name that states no device.
FindDbTable find_db_table(const std::filesystem::path& path, const DeviceInfo* device);
/// The same as a document.
CsvDocument find_db_document(const std::filesystem::path& path, const DeviceInfo* device);

}  // namespace attune
