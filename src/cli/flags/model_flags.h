// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "formats/model_config/model_options.h"

namespace CLI {
class App;
}

namespace attune {

/// Adds --model_dir, --tp, --nsets and --sequences under a heading of the help.
void add_model_flags(CLI::App& command, ModelOptions& options, const std::string& group);

}  // namespace attune
