// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>

#include "formats/miopen_shapes.h"

namespace attune {

/// The problems of a find-db's keys. `with_results`: also the entries that have a usable time; else entries are not
/// looked at. Throws invalid_input `a.fdb.txt:17: …` for a file that is no find-db, a malformed
/// key, and a file without any problem.
MiopenShapes read_find_db_shapes(const std::filesystem::path& path, bool with_results = false);

}  // namespace attune
