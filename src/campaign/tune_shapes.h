// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "campaign/tune_options.h"
#include "core/device_info.h"
#include "ops/family.h"

namespace attune {

/// A shape that is not tuned, and the reason.
struct SkippedShape {
  std::string shape, reason;
};

/// The shapes that the options of `attune tune` name.
struct TuneShapes {
  const FamilySpec* family = nullptr;
  std::string source;             ///< Where the shapes come from, for messages.
  std::vector<Problem> problems;  ///< Normalised, in input order.
  std::vector<SkippedShape> skipped;
  std::vector<std::string> notices;
};

/// Returns the folder of a family's list and table if no option names a file: --config-dir; else ATTUNE_CONFIG_DIR;
/// else `configs` in the working folder if it exists; else the working folder.
std::filesystem::path default_folder(const TuneOptions& options);

/// Reads the shapes of the one source that the options name: a size, a YAML list, a model, a CSV or problems as values.
/// Without a source, reads the family's list in default_folder(), else in the configuration folder. Throws
/// invalid_input or io.
TuneShapes read_tune_shapes(const TuneOptions& options, const DeviceInfo& device);
/// Returns the architectures that the rows of that source name, sorted. Empty for a source without rows, and for a file
/// that cannot be read, which read_tune_shapes() reports.
std::vector<std::string> architectures_of_shapes(const TuneOptions& options);

}  // namespace attune
