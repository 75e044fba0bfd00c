// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

namespace attune {

/// Returns the commands of all `*_command.cpp`, by name. CMake generates it (registered_commands.cpp.in).
std::vector<Command> registered_commands();

/// Runs a command line without the program's name; returns the exit status. Throws what the command throws, and
/// invalid_input for a wrong one. A command may call it for another.
int run_command(std::vector<std::string> arguments);

/// Adds every registered command, by group and then by name.
void add_commands(CLI::App& app, Action& chosen);

/// Returns a clause that names the commands of the help: `the commands are tune, bench and check`.
std::string names_of_commands(const CLI::App& app);

}  // namespace attune
