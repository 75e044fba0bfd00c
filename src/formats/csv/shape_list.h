// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "formats/csv/csv_document.h"
#include "ops/attribute_setting.h"
#include "ops/family.h"

namespace attune {

/// Settings of the command line for the shapes of a file. They override the file's columns.
struct ShapeOptions {
  std::string op;                          ///< `--op`; empty: chosen by family_of_file().
  std::vector<AttributeSetting> settings;  ///< Without column or setting for outdtype, outdtype is dtype.
  std::optional<int64_t> max_rows;         ///< `--max-m`: shapes with more rows_of() are skipped.
};

struct Shape {
  Problem problem;  ///< From the key columns; not normalised.
  size_t line = 0;
};

struct ShapeList {
  const FamilySpec* family = nullptr;
  std::vector<Shape> shapes;         ///< In the order of the file, each once.
  std::vector<std::string> notices;  ///< Duplicates dropped, columns ignored, defaults used: one sentence each.
};

/// Reads the shapes of an untuned or tuned table. If anything is wrong, throws invalid_input `shapes.csv:17: …`.
ShapeList read_shapes(const CsvDocument& document, const ShapeOptions& options);
ShapeList read_shapes(const std::filesystem::path& path, const ShapeOptions& options = {});

}  // namespace attune
