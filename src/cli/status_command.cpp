// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>

#include "base/line_output.h"
#include "base/locations.h"
#include "base/text.h"
#include "campaign/run_progress.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "report/json_output.h"

namespace attune {
namespace {

int run_status(bool json) {
  check_access(home_location());
  const auto runs = running_runs(home_location().path);
  auto list = nlohmann::ordered_json::array();
  for (const RunningRun& run : runs) {
    const RunProgress& progress = run.progress;
    if (json) {
      list.push_back(nlohmann::ordered_json::parse(run_json(run)));
      continue;
    }
    const std::string remarks = progress.remarks();
    print_line(stdout,
               fmt::format("process {} on {}: {} in {}, {}{}{}", run.pid, progress.device, progress.counts(),
                           format_duration(progress.elapsed_s), progress.doing, remarks.empty() ? "" : "; ", remarks));
    print_line(stdout, fmt::format("  table {}, journal {}", progress.table, progress.journal));
  }
  if (json)
    print_json(list);
  else if (runs.empty())
    print_line(stdout, "none of your runs is active");
  return 0;
}

void add_status_flags(CLI::App& command, Action& chosen) {
  auto json = std::make_shared<bool>(false);
  add_json_flag(command, *json);
  command.callback([json, &chosen] { chosen = [json] { return run_status(*json); }; });
}

}  // namespace

Command status_command() {
  return {CommandGroup::inspect, "status", "Show the active runs of `attune tune`: progress, speed and failures",
          add_status_flags};
}

}  // namespace attune
