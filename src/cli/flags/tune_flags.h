// SPDX-License-Identifier: MIT
#pragma once
#include "campaign/tune_options.h"

namespace CLI {
class App;
}

namespace attune {

/// Adds the flags of `attune tune` to a command: those of shapes, outputs and method, those that are only refused, and,
/// when the command is parsed, one for each attribute of the ops, whose modules that opens. `options` outlives the
/// command.
void add_tune_flags(CLI::App& command, TuneOptions& options);

}  // namespace attune
