// SPDX-License-Identifier: MIT
#include "cli/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/text.h"
#include "cli/flags/arguments.h"

namespace attune {
namespace {

/// Returns the heading of a group in the help. CLI11 omits what has an empty one.
const char* heading(CommandGroup group) {
  switch (group) {
    case CommandGroup::tune:
      return "Tune";
    case CommandGroup::inspect:
      return "Look and compare";
    case CommandGroup::tables:
      return "Tables";
    case CommandGroup::run_time:
      return "Run time";
    case CommandGroup::maintenance:
      return "Maintenance";
    case CommandGroup::hidden:
      break;
  }
  return "";
}

/// A flag that may be repeated takes one value each time: otherwise it would take the positional behind it as well.
void take_one_value_each(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (!option->get_positional() && option->get_allow_extra_args()) option->allow_extra_args(false);
  }
  for (CLI::App* inner : command.get_subcommands({})) take_one_value_each(*inner);
}

}  // namespace

void add_commands(CLI::App& app, Action& chosen) {
  auto commands = registered_commands();
  std::stable_sort(commands.begin(), commands.end(),
                   [](const Command& a, const Command& b) { return a.group < b.group; });
  for (const Command& command : commands) {
    CLI::App* added = app.add_subcommand(command.name, command.help);
    command.add_flags(*added, chosen);
    take_one_value_each(*added);
    added->group(heading(command.group));  // Last: the command's own subcommands would inherit it.
  }
}

std::string names_of_commands(const CLI::App& app) {
  std::vector<std::string> names = commands_in_help(app);
  if (names.empty()) return "there is no command";
  const std::string last = std::move(names.back());
  names.pop_back();
  return fmt::format("the commands are {} and {}", join(names, ", "), last);
}

}  // namespace attune
