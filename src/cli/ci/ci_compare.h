// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

namespace CLI {
class App;
}

namespace attune {

/// Adds the flags of `attune ci compare`, which measures whether shapes became slower or faster between two tables.
/// When it is parsed, it sets `chosen`, which outlives the app.
void add_ci_compare_flags(CLI::App& command, std::function<int()>& chosen);

}  // namespace attune
