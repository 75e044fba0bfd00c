// SPDX-License-Identifier: MIT
#include "cli/ci/ci_compare.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "campaign/devices/open_devices.h"
#include "campaign/interrupt.h"
#include "campaign/journal_run.h"
#include "cli/flags/arguments.h"
#include "cli/flags/device_flags.h"
#include "cli/flags/run_flags.h"
#include "cli/flags/value_checks.h"
#include "core/statistics.h"
#include "device/devices.h"
#include "formats/csv/architectures.h"
#include "pipeline/before_after.h"
#include "pipeline/contest_options.h"
#include "pipeline/run/shape_json.h"
#include "pipeline/shape_times.h"
#include "report/json_output.h"
#include "report/result_table.h"

namespace attune {
namespace {

using nlohmann::ordered_json;
using VerdictCounts = std::array<size_t, kNumChanges>;

struct CompareOptions {
  std::string before, after, shapes, op;
  double max_regression_pct = 2;
  uint64_t seed = 0;
  RunOptions run;
  bool json = false;
};

/// The shapes that are named, else those of both tables, each once.
std::vector<Problem> problems_of(const CompareOptions& options, const DeviceInfo& device,
                                 std::vector<std::string>& notices) {
  std::vector<std::string> files;
  if (options.shapes.empty())
    files = {options.before, options.after};
  else
    files = {options.shapes};
  std::vector<Problem> problems;
  for (const std::string& file : files) {
    const DeviceShapes found = read_device_shapes(file, {options.op, {}, {}}, device);
    notices.insert(notices.end(), found.notices.begin(), found.notices.end());
    for (const Shape& shape : found.shapes) {
      if (std::find(problems.begin(), problems.end(), shape.problem) == problems.end())
        problems.push_back(shape.problem);
    }
  }
  return problems;
}

std::string line_of(const ShapeChange& shape, const ChangeResult& result) {
  std::string line = fmt::format("{}: {}", short_shape(shape.problem), name(result.verdict));
  if (result.num_pairs > 0)
    line +=
        fmt::format(", {:.2f} → {:.2f} µs, {:.3f}× [{:.3f}, {:.3f}], {} pairs in {}", geometric_mean(shape.before_us),
                    geometric_mean(shape.after_us), result.speedup, result.interval.low, result.interval.high,
                    result.num_pairs, counted(result.attempts.size(), "attempt"));
  return shape.reason.empty() ? line : line + ", " + shape.reason;
}

std::string text_of(const VerdictCounts& counts) {
  std::string text;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[i], name(static_cast<Change>(i)));
  }
  return text;
}

void print_changes(const CompareOptions& options, const DeviceInfo& device, const std::vector<ShapeChange>& shapes,
                   const std::vector<ChangeResult>& results, const VerdictCounts& counts) {
  if (!options.json) {
    for (size_t i = 0; i < shapes.size(); ++i) print_line(stdout, line_of(shapes[i], results[i]));
    print_line(stdout, fmt::format("{}: {}", counted(shapes.size(), "shape"), text_of(counts)));
    return;
  }
  ordered_json list = ordered_json::array(), numbers = ordered_json::object();
  for (size_t i = 0; i < shapes.size(); ++i) list.push_back(verdict_json(shapes[i], results[i]));
  for (size_t i = 0; i < counts.size(); ++i) numbers[std::string(name(static_cast<Change>(i)))] = counts[i];
  print_json({{"device", device.key()},
              {"max_regression_pct", options.max_regression_pct},
              {"counts", numbers},
              {"shapes", list}});
}

TableSet tables_of(const std::string& paths, const CompareOptions& options) {
  return read_table_set(std::vector{paths}, options.op, {});
}

int run_compare(const CompareOptions& options) {
  const InterruptHandler handler;
  check_is_one_device(options.run.devices);
  DeviceChoice choice = options.run.devices;
  choice.ids = device_id(choice, architectures_in(options.after));
  const DeviceInfo device = find_device(choice);
  const TableSet before = tables_of(options.before, options), after = tables_of(options.after, options);
  if (before.tables.front().family().op != after.tables.front().family().op)
    fail(ErrorCode::invalid_input, "the tables are of two families, name two of one: {} and {}",
         before.tables.front().family().op, after.tables.front().family().op);
  const TableLookup before_lookup(before, device), after_lookup(after, device);
  std::vector<std::string> notices = before.notices;
  notices.insert(notices.end(), after.notices.begin(), after.notices.end());
  const auto problems = problems_of(options, device, notices);
  if (problems.empty())
    fail(ErrorCode::invalid_input, "there is no shape of {} to compare, name shapes with -i", device.key());
  print_notes(notices);
  const Environment environment = open_environment(choice, Isolation::process, {}, is_interrupted);
  JournalRun recorded(options.run.journal, device);
  wait_for_quiet(environment, options.run.quiet_wait_s, is_interrupted);

  auto how = contest_options<BeforeAfterOptions>({options.run.cache_policy(), options.seed, options.run.limits()},
                                                 environment, "compare/1");
  how.change.max_regression = options.max_regression_pct / 100;
  std::vector<ShapeChange> shapes;
  for (const Problem& problem : problems) {
    if (is_interrupted()) break;
    shapes.push_back(shape_change(problem, before_lookup, after_lookup, *environment.executor, how.tick));
  }
  measure_changes(shapes, *environment.executor, how);
  const auto results = judge(shapes, how.change);
  VerdictCounts counts{};
  for (const ChangeResult& result : results) ++counts[static_cast<size_t>(result.verdict)];
  print_changes(options, device, shapes, results, counts);
  const bool is_bad =
      counts[static_cast<size_t>(Change::slower)] > 0 || counts[static_cast<size_t>(Change::failed)] == shapes.size();
  const int status = is_interrupted() ? interrupt_status() : is_bad ? 1 : 0;
  recorded.end(is_interrupted() ? "interrupted" : "done", status);
  return status;
}

}  // namespace

void add_ci_compare_flags(CLI::App& command, std::function<int()>& chosen) {
  auto options = std::make_shared<CompareOptions>();
  command.add_option("before", options->before, "Tuned table as it was, F:F2 for several")->required();
  command.add_option("after", options->after, "Tuned table as it is")->required();
  command.add_option("-i,--input_file", options->shapes,
                     "List of shapes to compare; default: the rows of both tables for the device");
  command.add_option("--op", options->op, "Family, if the files do not identify it");
  command
      .add_option("--max-regression", options->max_regression_pct,
                  "Percent by which a shape may become slower and count as the same")
      ->capture_default_str()
      ->check(amounts(0.1, 1000));
  command.add_option("--seed", options->seed, "Seed of the data and the order")
      ->capture_default_str()
      ->check(natural_number_error);
  add_run_flags(
      command, options->run,
      "Device; default: the one whose architecture the new table's rows name, else the first GPU, else cpu:0");
  add_json_flag(command, options->json);
  command.footer(
      "Of each shape the kernel that serves it with the old table, the one with the new table and the default are "
      "timed\n"
      "in one interleaving, in openings of a fresh worker each. What is not shown to be the same is measured again in\n"
      "fresh processes. The verdicts are judged together, with intervals adjusted by Holm (docs/ci_failures.md):\n"
      "  slower, faster   both attempts and the interval lie beyond --max-regression, or above a gain of 0.5 %\n"
      "  same             the kernel is the same, or the interval lies within ± --max-regression\n"
      "  ambiguous        the samples do not say\n"
      "  no_default       neither a row nor a library served it before, so there is nothing to compare with\n"
      "  failed           a kernel could not be measured\n"
      "The exit status is 1 if a shape is slower, or if every shape failed.");
  command.callback([options, &chosen] { chosen = [options] { return run_compare(*options); }; });
}

}  // namespace attune
