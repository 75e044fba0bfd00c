// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "campaign/tune_options.h"
#include "formats/csv/table_diff.h"
#include "ops/family.h"
#include "pipeline/before_after.h"
#include "pipeline/finding.h"
#include "pipeline/run/measured_shapes.h"

namespace attune {

/// What a pipeline's run does with one family: options of `attune tune` with the family's list of shapes as input and
/// its default table as output.
struct FamilyRun {
  const FamilySpec* family = nullptr;
  TuneOptions tune;
};

// The steps of a run for one family. Each throws invalid_input with the file and the line for a table or list that
// cannot be read, and what its command throws; an interrupt ends it early. What they print is their command's.

/// Returns the findings of `attune ci validate` in the family's tables of a configuration folder. Throws invalid_input
/// for a table, or a row of it, that cannot be read.
std::vector<Finding> validate_tables(const FamilySpec& family, const std::filesystem::path& config_dir);

/// Times each shape as the tables serve it, for the record: an object with the `device` and `shapes` (times_json()).
/// What `measured` holds is not timed again; what is timed is added to it.
nlohmann::ordered_json time_as_served(const FamilyRun& run, const std::filesystem::path& config_dir,
                                      MeasuredShapes& measured);

/// Returns the rows of the default table that differ.
TableDiff changed_rows(const FamilySpec& family, const std::filesystem::path& old_config_dir,
                       const std::filesystem::path& config_dir);

/// The tables of a family before and after its run.
struct TablesOfRun {
  std::filesystem::path before, after;  ///< Laid out as configuration folders.
};

/// Measures each shape with the kernels of the old tables and of the new ones. An attempt that `measured` holds, at
/// these kernels, is not made again; each that is made is added to it.
std::vector<ShapeChange> compare_tables(const FamilyRun& run, const TablesOfRun& tables, const ChangeOptions& change,
                                        MeasuredShapes& measured);

/// The id of the one device on which a family is measured. Throws invalid_input for several, and for an unknown one.
std::string device_of(const FamilyRun& run);

}  // namespace attune
