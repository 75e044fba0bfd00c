// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/value_checks.h"
#include "cli/fleet/change_lines.h"
#include "cli/fleet/store_commands.h"
#include "fleet/golden/golden_update.h"
#include "report/json_output.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

struct GoldenOptions {
  GoldenUpdateOptions update;
  std::string device;
  bool json = false;
};

ordered_json reasons_as_json(const std::vector<std::pair<std::string, std::string>>& reasons) {
  ordered_json list = ordered_json::array();
  for (const auto& [key, reason] : reasons) list.push_back({{"configuration", key}, {"reason", reason}});
  return list;
}

int run_golden_update(const GoldenOptions& options) {
  const auto store = existing_fleet_store();
  const auto golden = open_golden_sets("");
  const GoldenUpdate made = update_golden(*store, *golden, options.update);
  const int status = made.refused.empty() && made.lacking.empty() ? 0 : 1;
  if (options.json) {
    print_json({{"version", options.update.version},
                {"device", made.device},
                {"added", made.num_added},
                {"replaced", made.num_replaced},
                {"copied", made.num_copied},
                {"same", made.num_same},
                {"refused", reasons_as_json(made.refused)},
                {"forced", reasons_as_json(made.accepted)},
                {"lacking", reasons_as_json(made.lacking)}});
    return status;
  }
  for (const auto& [key, reason] : made.accepted) print_line(stderr, fmt::format("forced {}: {}", key, reason));
  for (const auto& [key, reason] : made.refused) print_line(stderr, fmt::format("refused {}: {}", key, reason));
  for (const auto& [key, reason] : made.lacking) print_line(stderr, fmt::format("lacks {}: {}", key, reason));
  print_line(stdout,
             fmt::format("golden set {} on {}: {} added, {} replaced, {} copied, {} the same", options.update.version,
                         made.device, made.num_added, made.num_replaced, made.num_copied, made.num_same));
  if (!made.refused.empty())
    print_line(stderr, fmt::format("attune: {} refused, --force takes them", counted(made.refused.size(), "result")));
  return status;
}

int run_golden_diff(const GoldenOptions& options) {
  const GoldenUpdateOptions& named = options.update;
  if ((named.base > 0) == (named.session > 0))
    fail(ErrorCode::invalid_input, "compare the set with an earlier one (--base) or with a session (--session)");
  if (named.session > 0 && !options.device.empty())
    fail(ErrorCode::invalid_input, "--device chooses a device of the sets, and a session has one: omit it");
  const auto store = existing_fleet_store();
  const auto golden = open_golden_sets("");
  const ResultChanges changes = named.session > 0
                                    ? changes_of_session(*store, *golden, named.version, named.session)
                                    : changes_of_golden(*golden, named.base, named.version, options.device);
  if (options.json) {
    print_json(changes_as_json(changes));
    return 0;
  }
  print_changes(changes);
  print_line(stdout, changes.summary());
  return 0;
}

int list_golden_sets(const GoldenOptions& options) {
  static_cast<void>(existing_fleet_store());
  const auto versions = open_golden_sets("")->versions();
  if (options.json) {
    ordered_json list = ordered_json::array();
    for (const GoldenVersion& one : versions)
      list.push_back({{"version", one.number},
                      {"device", one.device},
                      {"entries", one.num_entries},
                      {"changed_at", one.changed_at}});
    print_json(list);
    return 0;
  }
  for (const GoldenVersion& one : versions)
    print_line(stdout, fmt::format("{:>4}  {}  {}  {}", one.number, one.changed_at, one.device,
                                   counted(one.num_entries, "configuration")));
  if (versions.empty())
    print_line(stdout, "there is no golden set, make one with: attune golden update --golden_v 1 --session N");
  return 0;
}

void add_golden_flags(CLI::App& command, Action& chosen) {
  command.require_subcommand(1);
  auto options = std::make_shared<GoldenOptions>();
  GoldenUpdateOptions& update = options->update;
  const auto add = [&](const char* name, const char* help, int (*run)(const GoldenOptions&)) {
    auto* part = command.add_subcommand(name, help);
    part->callback([options, run, &chosen] { chosen = [options, run] { return run(*options); }; });
    add_json_flag(*part, options->json);
    return part;
  };
  auto* taken = add("update", "Take the decisions of a session into a golden set", &run_golden_update);
  auto* diff =
      add("diff", "Compare a golden set with an earlier one, or a session with a golden set", &run_golden_diff);
  add("list", "List the golden sets", &list_golden_sets);
  for (CLI::App* part : {taken, diff})
    part->add_option("--golden_v,--golden-v", update.version, "The golden set's version")
        ->required()
        ->check(positive_number_error);
  taken->add_option("--session", update.session, "Session whose decisions to take")
      ->required()
      ->check(positive_number_error);
  diff->add_option("--session", update.session, "Session to compare with the set")->check(positive_number_error);
  taken->add_option("--base", update.base, "Version whose entries are copied where the set has none")
      ->check(positive_number_error);
  diff->add_option("--base", update.base, "Earlier version")->check(positive_number_error);
  diff->add_option("--device", options->device, "Device of the sets, if they have several, as `golden list` shows it");
  taken->add_option("-t,--tag", update.tag, "Only configurations of this tag");
  taken->add_flag("--force", update.is_forced, "Take slower, unverified and foreign results, too");
  command.footer(
      "An update keeps the set's entry where a result is slower by more than 5 %, unverified (an unfinished contest, a "
      "gain\nwithout confirmation) or foreign (another device or driver measured the entry). Exit status 1 if a result "
      "was refused or\nis lacking.\n"
      "Examples:\n"
      "  attune golden update --golden_v 2 --base 1 --session 3\n"
      "  attune golden diff --golden_v 2 --base 1");
}

}  // namespace

Command golden_command() {
  return {CommandGroup::tables, "golden", "Keep the best known results of each device by version", add_golden_flags};
}

}  // namespace attune
