// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

namespace attune {

/// Returns the verbs of all `*_command.cpp`, by name. CMake generates it (registered_verbs.cpp.in).
std::vector<Verb> registered_verbs();

/// Adds every registered verb, by group and then by name.
void add_verbs(CLI::App& app, Action& chosen);

/// Returns a clause that names the verbs of the help: `the verbs are tune, bench and check`.
std::string names_of_verbs(const CLI::App& app);

}  // namespace attune
