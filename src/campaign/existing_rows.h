// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "campaign/tune_shapes.h"
#include "measure/executor.h"
#include "tuner/problem/work_item.h"

namespace attune {

/// The files of `-o F:F2`.
struct OutputTables {
  std::filesystem::path output;  ///< The first, which is written and may be new; empty: no output.
  std::string all;               ///< As typed: all of these files are read.
};

/// The shapes with their rows of existing tables.
struct ExistingRows {
  std::vector<WorkItem> items;  ///< In the order of the shapes.
  std::vector<std::string> notices;
};

/// Reads the existing tables: old winners that can run on the executor's device become incumbents, and their shapes are
/// marked as having a row. With `--require batch-invariant` the table's other rows of the same weights are tuned as
/// well, because they share a config. `--all` with the same file for input and output excludes the rows of other
/// devices. Throws invalid_input for a table that cannot be read or that the run could not write.
ExistingRows read_existing_rows(const TuneOptions& options, const TuneShapes& shapes, const OutputTables& tables,
                                Executor& executor);

}  // namespace attune
