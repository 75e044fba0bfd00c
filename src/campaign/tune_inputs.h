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

/// A shape that is not tuned, and why.
struct SkippedShape {
  std::string shape, reason;
};

/// What a run of `attune tune` is about, read and checked before anything is measured.
struct TuneInputs {
  const FamilySpec* family = nullptr;
  std::string source;           ///< Where the shapes came from, for messages.
  std::vector<WorkItem> items;  ///< Normalised; in input order.
  std::vector<SkippedShape> skipped;
  std::vector<std::string> notices;
  std::filesystem::path table;  ///< Written; empty: none.
  std::string merged_tables;    ///< All of `-o F:F2`: read.
  std::filesystem::path yaml;   ///< Written; empty: none.
};

/// Reads shapes and existing tables and fixes where results go. Throws invalid_input or io; nothing is written.
TuneInputs read_tune_inputs(const TuneOptions& options, const DeviceInfo& device);

}  // namespace attune
