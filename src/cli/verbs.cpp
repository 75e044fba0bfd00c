// SPDX-License-Identifier: MIT
#include "cli/verbs.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/text.h"

namespace attune {
namespace {

/// Returns the heading of a group in the help. CLI11 omits what has an empty one.
const char* heading(VerbGroup group) {
  switch (group) {
    case VerbGroup::tune:
      return "Tune";
    case VerbGroup::inspect:
      return "Look and compare";
    case VerbGroup::tables:
      return "Tables";
    case VerbGroup::run_time:
      return "Run time";
    case VerbGroup::maintenance:
      return "Maintenance";
    case VerbGroup::hidden:
      break;
  }
  return "";
}

}  // namespace

void add_verbs(CLI::App& app, Action& chosen) {
  auto verbs = registered_verbs();
  std::stable_sort(verbs.begin(), verbs.end(), [](const Verb& a, const Verb& b) { return a.group < b.group; });
  for (const Verb& verb : verbs) {
    CLI::App* added = app.add_subcommand(verb.name, verb.help);
    verb.add_flags(*added, chosen);
    added->group(heading(verb.group));  // Last: the verb's own subcommands would inherit it.
  }
}

std::string names_of_verbs(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    names.push_back(verb->get_name());
  if (names.empty()) return "there is no verb";
  const std::string last = std::move(names.back());
  names.pop_back();
  return fmt::format("the verbs are {} and {}", join(names, ", "), last);
}

}  // namespace attune
