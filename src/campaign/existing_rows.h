// SPDX-License-Identifier: MIT
#pragma once
#include "campaign/tune_inputs.h"
#include "measure/executor.h"

namespace attune {

/// Looks into the tables that are there already: old winners that can be run here become incumbents, and their shapes
/// are marked as having a row. `--all` with one file for input and output leaves the rows of other devices out. Throws
/// invalid_input for a table that cannot be read or that the run could not write.
void apply_existing_rows(const TuneOptions& options, const DeviceInfo& device, Executor& executor, TuneInputs& inputs);

}  // namespace attune
