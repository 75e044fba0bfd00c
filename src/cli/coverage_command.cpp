// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/line_output.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/device_flags.h"
#include "cli/flags/value_checks.h"
#include "device/devices.h"
#include "report/json_output.h"
#include "solver/registry.h"
#include "tables/captured_sources.h"
#include "tables/coverage.h"
#include "tables/runtime_tables.h"
#include "tables/table_lookup.h"
#include "tables/tune_commands.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

struct CoverageOptions {
  std::vector<std::string> captured, tables;
  std::string op, require;
  DeviceChoice devices;
  size_t top = 10;
  bool json = false;
};

double share(uint64_t part, uint64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

constexpr Match kSteps[] = {Match::exact, Match::padded_fine, Match::padded_coarse, Match::predicted, Match::fallback};
std::string_view step_name(Match match) { return match == Match::fallback ? "none" : name(match); }
ServedShapes served_by(const ShapeCoverage& shapes, Match match) {
  const auto found = shapes.served.find(match);
  return found == shapes.served.end() ? ServedShapes() : found->second;
}

struct Coverage {
  RowCoverage rows;
  ShapeCoverage shapes;
  std::vector<std::string> commands;  ///< They tune what has no row.
};

/// `--top 0` prints all.
size_t num_printed(size_t count, const CoverageOptions& options) {
  return options.top > 0 ? std::min(options.top, count) : count;
}

void print_coverage_json(const Coverage& coverage, const CoverageOptions& options, const DeviceInfo& device) {
  const auto& [rows, shapes, commands] = coverage;
  ordered_json unused = ordered_json::array(), served = ordered_json::object(), unserved = ordered_json::array();
  for (const UnusedRow& row : rows.unused)
    unused.push_back({{"row", row.place}, {"key", row.problem.key()}, {"reason", row.kind}, {"detail", row.detail}});
  for (const Match match : kSteps) {
    const ServedShapes one = served_by(shapes, match);
    served[std::string(step_name(match))] = {
        {"num_shapes", one.num_shapes}, {"calls", one.calls}, {"calls_share", share(one.calls, shapes.calls)}};
  }
  for (size_t i = 0; i < num_printed(shapes.unserved.size(), options); ++i)
    unserved.push_back({{"problem", shapes.unserved[i].problem.key()}, {"calls", shapes.unserved[i].calls}});
  print_json({{"device", device.key()},
              {"num_rows", rows.num_rows},
              {"num_unreachable", rows.unused.size()},
              {"unreachable", unused},
              {"num_shapes", shapes.num_shapes},
              {"calls", shapes.calls},
              {"served", served},
              {"without_row", unserved},
              {"commands", commands}});
}

void print_rows(const RowCoverage& rows, Requirement required, const CoverageOptions& options,
                const DeviceInfo& device) {
  const std::string_view of = text(required);
  print_line(stdout, fmt::format("{} of {}, {} that no lookup{}{} can reach", counted(rows.num_rows, "row"),
                                 device_text(device), rows.unused.size(), of.empty() ? "" : " for ", of));
  std::map<std::string, size_t> counts;
  for (const UnusedRow& row : rows.unused) ++counts[row.kind];
  for (const auto& [kind, count] : counts) print_line(stdout, fmt::format("  {:>8}  {}", count, kind));
  const size_t num_shown = num_printed(rows.unused.size(), options);
  for (size_t i = 0; i < num_shown; ++i) {
    const UnusedRow& row = rows.unused[i];
    print_line(stdout, fmt::format("  {}  {}{}  {}", row.place, row.kind, row.detail.empty() ? "" : ": " + row.detail,
                                   row.problem.key()));
  }
  if (num_shown < rows.unused.size())
    print_line(stdout, fmt::format("  and {} more; --top 0 or --json lists all", rows.unused.size() - num_shown));
}

void print_shapes(const Coverage& coverage, const CoverageOptions& options) {
  const ShapeCoverage& shapes = coverage.shapes;
  if (shapes.num_shapes == 0) {
    print_line(stdout, "no shapes were captured in " + list_of(capture_sources(options.captured)));
    return;
  }
  print_line(stdout, fmt::format("{} captured, {} calls", counted(shapes.num_shapes, "shape"), shapes.calls));
  print_line(stdout, fmt::format("  {:<13}  {:>8}  {:>12}  {:>7}", "row", "shapes", "calls", ""));
  for (const Match match : kSteps) {
    const ServedShapes one = served_by(shapes, match);
    print_line(stdout, fmt::format("  {:<13}  {:>8}  {:>12}  {:>6.1f}%", step_name(match), one.num_shapes, one.calls,
                                   100 * share(one.calls, shapes.calls)));
  }
  if (shapes.unserved.empty()) return;
  const size_t num_shown = num_printed(shapes.unserved.size(), options);
  print_line(stdout, fmt::format("without a row, most called first ({} of {}):", num_shown, shapes.unserved.size()));
  for (size_t i = 0; i < num_shown; ++i)
    print_line(stdout, fmt::format("  {:>12}  {}", shapes.unserved[i].calls, shapes.unserved[i].problem.key()));
  for (const std::string& command : coverage.commands) print_line(stdout, "tune: " + command);
}

int run_coverage(const CoverageOptions& options) {
  auto captured = captured_shapes(options.captured, options.op);
  const DeviceInfo device = find_device(options.devices);
  std::vector<std::string> notices;
  keep_shapes_of(device, captured, notices);
  const TableSet set =
      read_table_set(options.tables, options.op, wanted_families(options.op), options.require, &device);
  notices.insert(notices.end(), set.notices.begin(), set.notices.end());
  print_notes(notices);
  Coverage coverage{row_coverage(set.tables, device, registry(), set.require, *set.bans),
                    shape_coverage(captured, set, device, registry()),
                    {}};
  const auto sources = capture_sources(options.captured);
  const auto named = options.tables.empty() ? std::span<const Table>() : set.tables;
  coverage.commands = tune_commands(coverage.shapes.unserved, {sources, named, options.devices, set.require});
  if (options.json) {
    print_coverage_json(coverage, options, device);
    return 0;
  }
  print_rows(coverage.rows, set.require, options, device);
  print_shapes(coverage, options);
  return 0;
}

void add_coverage_flags(CLI::App& command, Action& chosen) {
  auto options = std::make_shared<CoverageOptions>();
  command.add_option("captured", options->captured,
                     "Folders and files of captured shapes; default: the folder of captures (see `attune paths`)");
  command.add_option(
      "-t,--table", options->tables,
      "Tuned table, F:F2 for several; give it once for each family. Default: the tables of the run time");
  command.add_option("--op", options->op, "Only this family; also the family of files whose names do not identify it");
  add_require_flag(command, options->require,
                   "Look up as a process that requires it: deterministic or batch-invariant; default: ATTUNE_REQUIRE");
  add_device_flags(command, options->devices, "Device whose rows are considered; default: the first GPU, else cpu:0");
  command.add_option("--top", options->top, "Number of rows and shapes to list; 0: all")
      ->check(natural_number_error)
      ->capture_default_str();
  add_json_flag(command, options->json);
  command.callback([options, &chosen] { chosen = [options] { return run_coverage(*options); }; });
}

}  // namespace

Command coverage_command() {
  return {CommandGroup::tables, "coverage",
          "List rows that no lookup can reach, and captured shapes that no row serves", add_coverage_flags};
}

}  // namespace attune
