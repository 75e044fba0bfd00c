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
#include "cli/flags/value_checks.h"
#include "cli/fleet/session_status.h"
#include "report/json_output.h"

namespace attune {
namespace {

struct StatusOptions {
  int64_t session = 0;  ///< 0: the runs.
  bool json = false;
};

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
  auto options = std::make_shared<StatusOptions>();
  command.add_option("--session", options->session, "Instead: how far a tuning session is")
      ->check(positive_number_error);
  add_json_flag(command, options->json);
  command.callback([options, &chosen] {
    chosen = [options] {
      return options->session > 0 ? run_session_status(options->session, options->json) : run_status(options->json);
    };
  });
}

}  // namespace

Command status_command() {
  return {CommandGroup::inspect, "status",
          "Show the active runs of `attune tune`, or a session: progress, speed and failures", add_status_flags};
}

}  // namespace attune
