// SPDX-License-Identifier: MIT
#include "cli/flags/unexpected_argument.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <vector>

#include "base/text.h"

namespace attune {
namespace {

/// The flags and verbs of the help.
std::vector<std::string> flags_of(const CLI::App& verb) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) flags.push_back("-" + name);
  }
  return flags;
}
std::vector<std::string> verbs_of(const CLI::App& verb) {
  std::vector<std::string> verbs;
  for (const CLI::App* one : verb.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); }))
    verbs.push_back(one->get_name());
  return verbs;
}

std::string with_nearest(std::string clause, std::string_view word, const std::vector<std::string>& names) {
  const std::string_view nearest = nearest_name(word, names);
  return nearest.empty() ? clause : fmt::format("{}, the nearest is {}", clause, nearest);
}

/// `command`: the verb as it is typed, such as `attune kernels build`.
std::string clause_about(const CLI::App& verb, const std::string& command, const std::vector<std::string>& unexpected) {
  const std::string& first = unexpected.front();
  if (first.starts_with('-')) {
    const std::string flag = first.substr(0, first.find('='));
    return with_nearest(fmt::format("{} has no flag '{}'", command, shown(flag)), flag, flags_of(verb));
  }
  if (const auto verbs = verbs_of(verb); !verbs.empty())
    return with_nearest(fmt::format("{} has no verb '{}'", command, shown(first)), first, verbs);
  if (const CLI::Option* problem = verb.get_option_no_throw("problem"); problem != nullptr) {
    std::string words = join(problem->results(), " ");
    for (const std::string& word : unexpected) words += " " + word;
    return fmt::format("{} takes the problem as one argument, put it in quotes: \"{}\"", command, shown(words));
  }
  return fmt::format("{} takes no argument '{}'", command, shown(first));
}

}  // namespace

std::string unexpected_argument(const CLI::App& app) {
  std::string command = "attune";
  for (const CLI::App* verb = &app;;) {
    auto unexpected = verb->remaining();
    std::erase(unexpected, "--");
    if (!unexpected.empty()) return clause_about(*verb, command, unexpected);
    const auto chosen = verb->get_subcommands();
    if (chosen.empty()) return "";
    verb = chosen.front();
    command += " " + verb->get_name();
  }
}

}  // namespace attune
