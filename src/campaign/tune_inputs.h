// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "campaign/tune_options.h"
#include "core/device_info.h"
#include "ops/family.h"
#include "tuner/tuner.h"

namespace attune {

/// A shape that is not tuned, and the reason.
struct SkippedShape {
  std::string shape, reason;
};

/// Inputs of a run of `attune tune`, read and checked before anything is measured.
struct TuneInputs {
  const FamilySpec* family = nullptr;
  std::string source;           ///< Source of the shapes, for messages.
  std::vector<WorkItem> items;  ///< Normalised, in input order.
  std::vector<SkippedShape> skipped;
  std::vector<std::string> notices;
  std::filesystem::path table;  ///< Output table; empty: none.
  std::string merged_tables;    ///< All files of `-o F:F2`, which are read.
  std::filesystem::path yaml;   ///< Output YAML file; empty: none.
};

/// Reads shapes and existing tables and determines the output files. Throws invalid_input or io; writes nothing.
TuneInputs read_tune_inputs(const TuneOptions& options, const DeviceInfo& device);

}  // namespace attune
