// SPDX-License-Identifier: MIT
#include "cli/flags/argument_error.h"

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

/// Returns a clause about the first argument that neither the program nor its command takes; empty: all were taken.
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

/// Returns a clause about the command that the chosen one needs and did not get: `attune kernels needs one of its
/// commands: list, clear or build`. Empty: it needs none, or has it.
std::string missing_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty() || !chosen.front()->get_subcommands().empty() || chosen.front()->get_require_subcommand_min() == 0)
    return "";
  std::vector<std::string> names = commands_in_help(*chosen.front());
  const std::string last = std::move(names.back());
  names.pop_back();
  if (names.empty()) return fmt::format("attune {} needs its command: {}", chosen.front()->get_name(), last);
  return fmt::format("attune {} needs one of its commands: {} or {}", chosen.front()->get_name(), join(names, ", "),
                     last);
}

/// Returns a clause about the first argument in error of a command, or of the command of its that was chosen.
std::string refused_argument(const CLI::App& app, const std::string& command, const CLI::ParseError& error) {
  const bool lacks_one = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    const auto count = static_cast<int>(option->count());
    const std::string value = count == 0 ? "" : option->results().front();
    if (lacks_one && option->get_required() && count == 0)
      return fmt::format("{} needs {}{}", command, option->get_positional() ? "the argument " : "", name);
    if (lacks_one) continue;
    if (option->get_expected_max() > 0 && count > option->get_items_expected_max())
      return fmt::format("{} is given {}, give it once", name, count == 2 ? "twice" : fmt::format("{} times", count));
    if (option->get_expected_max() == 0 && count > 0 && !parse_bool(value))
      return fmt::format("{} takes no value, got '{}'", name, shown(value));
  }
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? "" : refused_argument(*chosen.front(), command + " " + chosen.front()->get_name(), error);
}

}  // namespace

std::string argument_error(const CLI::App& app, const CLI::ParseError& error) {
  const bool is_of_names = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                           dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const std::string what = error.what();
  if (is_of_names) {
    // A misspelt argument may have been meant for the missing one.
    if (std::string clause = unexpected_argument(app); !clause.empty()) return clause;
    if (std::string clause = missing_command(app); !clause.empty()) return clause;
  }
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr) return what;  // In the words of a check.
  if (std::string clause = refused_argument(app, "attune", error); !clause.empty()) return clause;
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return fmt::format("{} needs a value", what.substr(0, what.find(':')));
  return what;
}

}  // namespace attune
