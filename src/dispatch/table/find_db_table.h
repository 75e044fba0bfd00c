// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>

#include "core/device_info.h"
#include "formats/csv/csv_document.h"

namespace attune {

/// A find-db as a table of `conv`: for each key the fastest solver of Attune, whose ids have a dot in them. A find-db
/// states no version and no config, so that rows name the version kAnyVersion. Their configs are those of the perf-db's
/// text beside the file (`gfx90878.db.txt`), else the default configs.
struct FindDbTable {
  /// Each row has the number of its key's line if the header counts as line 0.
  std::string csv;
  size_t num_rows = 0;
  size_t num_foreign = 0;     ///< Entries of other solvers.
  std::string first_foreign;  ///< The first of them; empty: none.
};

/// Keys that name no problem and unusable times are left out. `device`: for names of files, see
/// device_of_miopen_file(); null: the name must state it in decimal or be an AMD device's. Throws invalid_input, like
/// FindDb::read_with_defects(), and for a name that states no device.
FindDbTable find_db_table(const std::filesystem::path& path, const DeviceInfo* device);
/// The same as a document.
CsvDocument find_db_document(const std::filesystem::path& path, const DeviceInfo* device);

}  // namespace attune
