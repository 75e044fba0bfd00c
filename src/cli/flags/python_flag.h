// SPDX-License-Identifier: MIT
#pragma once

namespace CLI {
class App;
}

namespace attune {

/// Adds --python, the Python that compiles Triton's kernels. It acts when the command line is parsed: it sets
/// ATTUNE_PYTHON for this process and its helpers.
void add_python_flag(CLI::App& command);

}  // namespace attune
