// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "ops/family.h"

namespace attune {

/// What the command line says about the shapes of a file. Set values win over the file's columns.
struct ShapeOptions {
  std::string op;                          ///< `--op`; empty: by the rule of family_of_file().
  std::optional<DType> indtype, outdtype;  ///< Without outdtype column and option, outdtype is dtype.
  std::optional<bool> bias, trans_a, trans_b;
  std::optional<int64_t> max_m;  ///< Larger M (tokens of fmoe) are left out.
};

struct Shape {
  Problem problem;  ///< Of the key columns; not normalised.
  size_t line = 0;
};

struct ShapeList {
  const FamilySpec* family = nullptr;
  std::vector<Shape> shapes;         ///< In the file's order, each once.
  std::vector<std::string> notices;  ///< Duplicates dropped, columns ignored, defaults used: one sentence each.
};

/// Shapes of an untuned table; a tuned one serves too. All or nothing: anything wrong is invalid_input `shapes.csv:17:
/// …`.
ShapeList read_shapes(const std::filesystem::path& path, const ShapeOptions& options = {});

}  // namespace attune
