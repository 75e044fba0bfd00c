// SPDX-License-Identifier: MIT
#include "cli/flags/unexpected_argument.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <vector>

#include "base/text.h"
#include "cli/flags/arguments.h"

namespace attune {
namespace {

/// The flags of the help.
std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) flags.push_back("-" + name);
  }
  return flags;
}

std::string with_nearest(std::string clause, std::string_view word, const std::vector<std::string>& names) {
  const std::string_view nearest = nearest_name(word, names);
  return nearest.empty() ? clause : fmt::format("{}, the nearest is {}", clause, nearest);
}

/// `command`: the command as it is typed, such as `attune kernels build`.
std::string clause_about(const CLI::App& app, const std::string& command, const std::vector<std::string>& unexpected) {
  const std::string& first = unexpected.front();
  if (first.starts_with('-')) {
    const std::string flag = first.substr(0, first.find('='));
    return with_nearest(fmt::format("{} has no flag '{}'", command, shown(flag)), flag, flags_of(app));
  }
  if (const auto commands = commands_in_help(app); !commands.empty())
    return with_nearest(fmt::format("{} has no command '{}'", command, shown(first)), first, commands);
  if (const CLI::Option* problem = app.get_option_no_throw("problem"); problem != nullptr) {
    std::string words = join(problem->results(), " ");
    for (const std::string& word : unexpected) words += " " + word;
    return fmt::format("{} takes the problem as one argument, put it in quotes: \"{}\"", command, shown(words));
  }
  return fmt::format("{} takes no argument '{}'", command, shown(first));
}

}  // namespace

std::string unexpected_argument(const CLI::App& app) {
  std::string command = "attune";
  for (const CLI::App* one = &app;;) {
    auto unexpected = one->remaining();
    std::erase(unexpected, "--");
    if (!unexpected.empty()) return clause_about(*one, command, unexpected);
    const auto chosen = one->get_subcommands();
    if (chosen.empty()) return "";
    one = chosen.front();
    command += " " + one->get_name();
  }
}

std::string missing_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty() || !chosen.front()->get_subcommands().empty() || chosen.front()->get_require_subcommand_min() == 0)
    return "";
  std::vector<std::string> names = commands_in_help(*chosen.front());
  const std::string last = std::move(names.back());
  names.pop_back();
  return fmt::format("attune {} needs one of its commands: {} or {}", chosen.front()->get_name(), join(names, ", "),
                     last);
}

}  // namespace attune
