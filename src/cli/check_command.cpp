// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/line_output.h"
#include "base/text.h"
#include "campaign/devices/open_devices.h"
#include "campaign/journal_run.h"
#include "cli/check_options.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/device_flags.h"
#include "report/comparison_output.h"
#include "report/json_output.h"
#include "report/result_table.h"
#include "tables/row_check.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const CheckedRow& row, const DeviceInfo& device) {
  ordered_json object = {{"line", row.line},     {"problem", row.problem.key()}, {"device", device.key()},
                         {"kernel", row.kernel}, {"status", name(row.status)},   {"reason", row.reason}};
  if (row.us) object["table_us"] = *row.us;
  if (row.comparison.us > 0) add_comparison(object, row.comparison);
  return object;
}

std::string line_of(const CheckedRow& row) {
  std::string line = fmt::format("{} {}: {}", row.place, short_shape(row.problem), name(row.status));
  if (!row.reason.empty()) line += ", " + row.reason;
  if (row.us) line += fmt::format("; {:.2f} µs in the table", *row.us);
  if (row.comparison.us > 0)
    line += fmt::format(", {:.2f} µs now; speed against the default {}", row.comparison.us, ratio_text(row.comparison));
  return line;
}

}  // namespace

int run_check(const CheckOptions& options) {
  std::vector<std::string> notices;
  auto rows = read_rows_to_check(options.table, options.op, notices);
  print_notes(notices);
  Environment environment = open_environment(options.run.devices, Isolation::process);
  std::optional<JournalRun> recorded;
  if (!options.no_run) recorded.emplace(options.run.journal, environment.device());
  if (!options.no_run) wait_for_quiet(environment, options.run.quiet_wait_s);
  const RowCheckOptions how{.inputs = options.run.cache_policy(),
                            .run = !options.no_run,
                            .verify_only = options.verify_only,
                            .max_slowdown_pct = options.max_slowdown_pct,
                            .slower_than_pct = options.slower_than_pct,
                            .limits = options.run.limits()};
  if (!options.json) print_line(stdout, options.table + " on " + device_text(environment.device()));
  CheckCounts counts;
  ordered_json list = ordered_json::array();
  for (CheckedRow& row : rows) {
    check_row(row, *environment.executor, environment.kernels.get(), how);
    counts.add(row.status);
    if (options.json)
      list.push_back(to_json(row, environment.device()));
    else if (row.status != CheckStatus::foreign)
      print_line(stdout, line_of(row));
  }
  if (options.json)
    print_json(list);
  else
    print_line(stdout, counted(rows.size(), "row") + (rows.empty() ? "" : ": ") + counts.text());
  if (!counts.is_checked()) std::fprintf(stderr, "attune: no row of the file could be checked on this device\n");
  const size_t num_unusable = counts.of(CheckStatus::unusable);
  if (counts.is_checked() && num_unusable > 0)
    print_line(stderr, fmt::format("attune: {} of this device cannot be used", counted(num_unusable, "row")));
  const int status = counts.passed() ? 0 : 1;
  if (recorded) recorded->end("done", status);
  return status;
}

namespace {

void add_check_flags(CLI::App& command, Action& chosen) {
  auto options = std::make_shared<CheckOptions>();
  command.add_option("table", options->table, "Tuned CSV, or YAML results")->required();
  command.add_flag("--no-run", options->no_run, "Do not run the kernels");
  command.add_option("--op", options->op, "Family, if the file does not identify it");
  add_run_flags(command, options->run);
  command
      .add_option("--max-slowdown", options->max_slowdown_pct,
                  "Percent by which a row may be slower than the default before it is suspect")
      ->capture_default_str()
      ->check(amount_error);
  command
      .add_option("--slower-than", options->slower_than_pct,
                  "Percent by which a row may be slower than its recorded time before it is suspect; the low end of "
                  "the measured interval must exceed it in two runs")
      ->capture_default_str()
      ->check(amount_error);
  add_json_flag(command, options->json);
  command.callback([options, &chosen] { chosen = [options] { return run_check(*options); }; });
}

}  // namespace

Command check_command() {
  return {
      CommandGroup::tables, "check",
      "Check every row of a table: whether it loads on this device, is still correct and still as fast; exit status 1 "
      "if one is not",
      add_check_flags};
}

}  // namespace attune
