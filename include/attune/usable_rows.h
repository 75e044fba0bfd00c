// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attune/export.h"
#include "attune/problem.h"

namespace attune {

/// A row of a tuned table that a lookup may take.
struct UsableRow {
  Problem problem;        ///< With every attribute of the key, defaults included.
  std::string gfx;        ///< Architecture.
  int64_t num_units = 0;  ///< `cu_num`.
  std::string device;     ///< Model; empty: any.
  std::string layout;     ///< Of packed weights.
  std::string candidate;  ///< `kernelName`.
  double us = 0;          ///< Positive and finite.
};

/// Reads a table of the op as lookups do: skips rows that are unreadable, tagged or without a usable time, and returns
/// the best of each key, device and layout, in the order of the file. Throws invalid_input for an unknown op or a file
/// that is no tuned table.
ATTUNE_API std::vector<UsableRow> usable_rows(const std::filesystem::path& table, std::string_view op);

}  // namespace attune
