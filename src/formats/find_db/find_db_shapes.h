// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "attune/problem.h"

namespace attune {

/// A problem and the line of its key.
struct FindDbShape {
  Problem problem;  ///< Not normalised; equal problems have equal keys.
  size_t line = 0;
};

struct FindDbShapes {
  std::vector<FindDbShape> shapes;   ///< Each once, in the order of the file.
  std::vector<std::string> notices;  ///< About keys that name no problem.
  size_t num_keys = 0;               ///< Of the file, repeated ones included.
  size_t num_untunable = 0;          ///< Keys that name no problem.
};

/// The problems of a find-db's keys; times are not looked at. Throws invalid_input `a.fdb.txt:17: …` for a file that is
/// no find-db, a malformed key, and a file without any problem.
FindDbShapes read_find_db_shapes(const std::filesystem::path& path);

}  // namespace attune
