// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "campaign/tune_options.h"
#include "formats/csv/table_diff.h"
#include "ops/family.h"
#include "pipeline/before_after.h"
#include "pipeline/finding.h"
#include "pipeline/run/measured_shapes.h"

namespace attune {

/// One family's part in a pipeline's run: options of `attune tune` with the family's list of shapes as input and its
/// default table as output.
struct FamilyRun {
  const FamilySpec* family = nullptr;
  TuneOptions tune;
  /// A list of the chosen rows, as text, which replaces the input; empty: none is chosen, and nothing is tuned or
  /// measured. Nothing: all rows are chosen.
  std::optional<std::string> chosen_rows;
  /// Why the family is skipped, which is its failure in the results; empty: it is tuned.
  std::string reason_skipped = {};
};

// The steps of a run for one family. Each throws invalid_input with the file and the line for a table or list that
// cannot be read, and the errors of its command. An interrupt ends it early. Each prints the output of its command.

/// Returns the findings of `attune ci validate` in the family's tables of a configuration folder. Throws invalid_input
/// for a table, or a row of it, that cannot be read.
std::vector<TableFinding> validate_tables(const FamilySpec& family, const std::filesystem::path& config_dir);

/// Times each shape as the tables serve it, for the record: an object with the `device`, its `fingerprint`, and
/// `shapes` (times_json()). A shape in `measured` is not timed again; each newly timed shape is added to it.
nlohmann::ordered_json time_as_served(const FamilyRun& run, const std::filesystem::path& config_dir,
                                      MeasuredShapes& measured);

/// Returns the rows of the default table that differ.
TableDiff changed_rows(const FamilySpec& family, const std::filesystem::path& old_config_dir,
                       const std::filesystem::path& config_dir);

/// The tables of a family before and after its run.
struct TablesOfRun {
  std::filesystem::path before, after;  ///< Laid out as configuration folders.
};

/// Measures each shape with the kernels of the old tables and of the new ones. An attempt in `measured` with these
/// kernels is not repeated; each new attempt is added to it.
std::vector<ShapeChange> compare_tables(const FamilyRun& run, const TablesOfRun& tables, const ChangeOptions& change,
                                        MeasuredShapes& measured);

/// The device on which a family is measured: the one that the run names, or its lists imply, and the first of several
/// equal ones, which tune together. Throws invalid_input for an unknown one, and for several parts of a host, because a
/// part has other rows than the whole.
DeviceInfo measuring_device(const FamilyRun& run);

/// Which shapes have no row in the configuration folder's tables that serves them on that device, or only one whose
/// kernel cannot run there, as `attune coverage` has it. Runs nothing. Throws like validate_tables().
std::vector<bool> stale_shapes(const FamilyRun& run, const std::filesystem::path& config_dir,
                               const std::vector<Problem>& shapes);

}  // namespace attune
