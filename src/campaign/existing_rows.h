// SPDX-License-Identifier: MIT
#pragma once
#include "campaign/tune_inputs.h"
#include "measure/executor.h"

namespace attune {

/// Reads the existing tables: old winners that can run on this machine become incumbents, and their shapes are marked
/// as having a row. `--all` with the same file for input and output excludes the rows of other devices. Throws
/// invalid_input for a table that cannot be read or that the run could not write.
void apply_existing_rows(const TuneOptions& options, const DeviceInfo& device, Executor& executor, TuneInputs& inputs);

}  // namespace attune
