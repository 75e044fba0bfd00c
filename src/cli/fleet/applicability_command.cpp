// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include <nlohmann/json.hpp>

#include "base/line_output.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/value_checks.h"
#include "cli/fleet/store_commands.h"
#include "fleet/setup/update_applicability.h"
#include "report/json_output.h"

namespace attune {
namespace {

struct ApplicabilityOptions {
  int64_t session = 0;
  std::string tag;
  bool json = false;
};

int update_session(const ApplicabilityOptions& options) {
  const auto store = existing_fleet_store();
  const ApplicabilityCounts counts = update_applicability(*store, options.session, options.tag);
  if (options.json)
    print_json({{"session", options.session},
                {"configurations", counts.num_configurations},
                {"pairs", counts.num_pairs},
                {"applicable", counts.num_applicable}});
  else
    print_line(stdout,
               fmt::format("{}: {} of {} with a solver apply", counted(counts.num_configurations, "configuration"),
                           counts.num_applicable, counted(counts.num_pairs, "pair")));
  return 0;
}

void add_applicability_flags(CLI::App& command, Action& chosen) {
  command.require_subcommand(1);
  auto options = std::make_shared<ApplicabilityOptions>();
  auto* update =
      command.add_subcommand("update", "Ask each solver of a session which configurations it computes on its device");
  update->add_option("--session", options->session, "The session")->required()->check(positive_number_error);
  update->add_option("-t,--tag", options->tag, "Only configurations of this tag");
  add_json_flag(*update, options->json);
  update->callback([options, &chosen] { chosen = [options] { return update_session(*options); }; });
}

}  // namespace

Command applicability_command() {
  return {CommandGroup::tune, "applicability", "Find out which solver computes which configuration",
          add_applicability_flags};
}

}  // namespace attune
