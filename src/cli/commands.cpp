// SPDX-License-Identifier: MIT
#include "cli/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "attune/version.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/flags/argument_error.h"
#include "cli/flags/arguments.h"
#include "cli/flags/device_flags.h"
#include "cli/flags/help_formatter.h"

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

/// The commands, or where the help of the chosen one is: of `attune ci compare`, not of `attune ci`.
std::string where_help_is(const CLI::App& app) {
  std::string command;
  for (auto chosen = app.get_subcommands(); !chosen.empty(); chosen = chosen.front()->get_subcommands())
    command += " " + chosen.front()->get_name();
  return command.empty() ? names_of_commands(app) : fmt::format("see attune{} --help", command);
}

}  // namespace

int run_command(std::vector<std::string> arguments) {
  CLI::App app("Attune finds the fastest correct kernel for every operator shape on the hardware at hand.", "attune");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", std::string("attune ") + kVersion);
  app.require_subcommand(0, 1);
  app.set_help_all_flag("--help-all", "Help of every command");
  app.footer("`attune paths` shows where tables, journal and kernels are kept. docs/cli.md describes every flag.");
  Action chosen;
  add_commands(app, chosen);
  apply_common_rules(app);
  check_thread_variable();
  arguments = rewrite_arguments(std::move(arguments));
  if (std::find(arguments.begin(), arguments.end(), "--help-all") == arguments.end()) hide_refused_flags(app);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 reads them from the back.
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help or --version.
    fail(ErrorCode::invalid_input, "{}; {}", argument_error(app, error), where_help_is(app));
  }
  if (!chosen) fail(ErrorCode::invalid_input, "no command was given; {}", names_of_commands(app));
  return chosen();
}

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
