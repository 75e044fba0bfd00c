// SPDX-License-Identifier: MIT
#pragma once
#include "campaign/tune_options.h"

namespace CLI {
class App;
}

namespace attune {

/// Throws invalid_input for given flags of `attune tune` that would have no effect beside the others, and if none says
/// what to tune. Uses the parsed command, too, because TuneOptions does not tell a default from an equal value that was
/// given.
void refuse_conflicts(const CLI::App& command, const TuneOptions& options);

}  // namespace attune
