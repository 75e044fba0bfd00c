// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "campaign/tune_options.h"
#include "campaign/tune_shapes.h"
#include "measure/executor.h"
#include "ops/family.h"
#include "tuner/problem/work_item.h"

namespace attune {

/// Inputs of a run of `attune tune`, read and checked before anything is measured.
struct TuneInputs {
  const FamilySpec* family = nullptr;
  std::string source;           ///< Source of the shapes, for messages.
  std::vector<WorkItem> items;  ///< Normalised, in input order.
  std::vector<SkippedShape> skipped;
  std::vector<std::string>
      notices;                  ///< About the inputs, this machine and the environment, for readers of the results.
  std::filesystem::path table;  ///< Output table; empty: none.
  std::filesystem::path yaml;   ///< Output YAML file; empty: none.
};

/// Reads shapes and existing tables for the executor's device and determines the output files. Throws invalid_input or
/// io; writes nothing.
TuneInputs read_tune_inputs(const TuneOptions& options, Executor& executor);
/// Prints the notices and the skipped shapes to standard error.
void print_notices(const TuneInputs& inputs);

}  // namespace attune
