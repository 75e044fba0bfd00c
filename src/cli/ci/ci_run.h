// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

namespace CLI {
class App;
}

namespace attune {

/// Adds the flags of `attune ci run`, which tunes families and compares the times before and after. When it is parsed,
/// it sets `chosen`, which outlives the app.
void add_ci_run_flags(CLI::App& command, std::function<int()>& chosen);

}  // namespace attune
