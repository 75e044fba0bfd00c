// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/device_flags.h"
#include "cli/flags/value_checks.h"
#include "device/devices.h"
#include "dispatch/capture/captured_shapes.h"
#include "report/json_output.h"
#include "tables/capture_list.h"
#include "tables/capture_merge.h"
#include "tables/captured_sources.h"
#include "tables/table_lookup.h"

namespace attune {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

struct CaptureOptions {
  std::vector<std::string> sources, tables;
  std::string op, output, counts;
  DeviceChoice devices;
  uint64_t top = 0;
  CaptureLimits limits;
  bool json = false;
};

/// Returns the families of the captured shapes.
std::vector<const FamilySpec*> families_of(const std::vector<CapturedShapes>& captured) {
  std::vector<const FamilySpec*> families;
  for (const CapturedShapes& one : captured) families.push_back(one.family);
  return families;
}

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

void print_shapes(const CaptureList& list, size_t num_shown) {
  const bool timed = list.us > 0;
  const std::string time_head = timed ? fmt::format("{:>7}  {:>10}  ", "time", "µs") : "";
  print_line(stdout, fmt::format("{:>7}  {:>12}  {}{:<13}  shape", "calls", "", time_head, "row"));
  for (size_t i = 0; i < num_shown; ++i) {
    const ShapeShare& one = list.shapes[i];
    std::string times;
    if (timed)
      times = one.us ? fmt::format("{:>6.1f}%  {:>10.2f}  ", percent(one.total_us, list.us), *one.us)
                     : fmt::format("{:>7}  {:>10}  ", "", "");
    const auto calls = static_cast<double>(one.shape.calls);
    print_line(stdout, fmt::format("{:>6.1f}%  {:>12}  {}{:<13}  {}", percent(calls, list.calls), one.shape.calls,
                                   times, one.row.empty() ? "none" : name(one.match), one.shape.problem.key()));
  }
}

void print_shapes_json(const CaptureList& list, size_t num_shown, const DeviceInfo& device) {
  ordered_json shapes = ordered_json::array();
  for (size_t i = 0; i < num_shown; ++i) {
    const ShapeShare& one = list.shapes[i];
    const auto calls = static_cast<double>(one.shape.calls);
    ordered_json object = {{"problem", one.shape.problem.key()},
                           {"family", one.shape.problem.op()},
                           {"threads", one.shape.threads},
                           {"calls", one.shape.calls},
                           {"calls_share", percent(calls, list.calls) / 100},
                           {"match", name(one.match)}};
    if (!one.row.empty()) object["row"] = one.row;
    if (one.us) {
      object["us"] = *one.us;
      object["time_share"] = percent(one.total_us, list.us) / 100;
    }
    shapes.push_back(std::move(object));
  }
  print_json({{"device", device.key()},
              {"num_shapes", list.shapes.size()},
              {"num_without_row", list.num_without_row},
              {"calls_share_without_row", percent(list.calls_without_row, list.calls) / 100},
              {"shapes", shapes}});
}

int show_captures(const CaptureOptions& options) {
  const auto sources = capture_sources(options.sources);
  auto captured = captured_shapes(options.sources, options.op);
  const DeviceInfo device = find_device(options.devices);
  std::vector<std::string> notices;
  keep_shapes_of(device, captured, notices);
  const TableSet set = read_table_set(options.tables, options.op, families_of(captured), "", &device);
  notices.insert(notices.end(), set.notices.begin(), set.notices.end());
  print_notes(notices);
  const CaptureList list = capture_list(captured, set, device);
  const size_t num_shapes = list.shapes.size();
  const size_t num_shown = options.top > 0 ? std::min<size_t>(options.top, num_shapes) : num_shapes;
  if (options.json) {
    print_shapes_json(list, num_shown, device);
    return 0;
  }
  if (num_shapes == 0) {
    print_line(stdout, "no shapes were captured in " + list_of(sources));
    return 0;
  }
  print_shapes(list, num_shown);
  std::string end = counted(num_shapes, "shape");
  if (num_shown < num_shapes) end = fmt::format("{} of {}", num_shown, end);
  print_line(stdout, fmt::format("{}; {} without a row on {}, {:.1f} % of the calls", end, list.num_without_row,
                                 device.key(), percent(list.calls_without_row, list.calls)));
  return 0;
}

int merge_captured(const CaptureOptions& options) {
  const auto sources = capture_sources(options.sources);
  const CaptureMerge merge = capture_merge(captured_shapes(options.sources, options.op), sources, options.limits);
  const CaptureOutputs outputs{options.output, options.counts.empty() ? options.output + ".counts" : options.counts};
  write_capture_merge(merge, outputs, sources);
  std::string text = fmt::format("{} of {} in '{}', calls in '{}'", counted(merge.shapes.shapes.size(), "shape"),
                                 merge.shapes.family->op, options.output, outputs.counts.string());
  if (merge.num_skipped > 0) text += fmt::format("; {} skipped", merge.num_skipped);
  print_line(stdout, text);
  return 0;
}

int clear_captured(const CaptureOptions& options) {
  const auto sources = capture_sources(options.sources);
  if (!options.sources.empty() && !fs::is_directory(sources.front()))
    fail(ErrorCode::invalid_input, "expected a folder of captured files, got '{}'",
         shown(sources.front().string(), 500));
  const size_t num_removed = clear_captures(sources.front());
  print_line(stdout, fmt::format("{} removed from {}", counted(num_removed, "file"), list_of(sources)));
  return 0;
}

void add_capture_flags(CLI::App& command, Action& chosen) {
  command.require_subcommand(1);
  auto options = std::make_shared<CaptureOptions>();
  const auto add = [&](const char* name, const char* help, int (*run)(const CaptureOptions&)) {
    auto* sub = command.add_subcommand(name, help);
    sub->callback([options, run, &chosen] { chosen = [options, run] { return run(*options); }; });
    return sub;
  };
  auto* show =
      add("show", "List shapes by their share of the time if a table states it, otherwise by their share of the calls",
          show_captures);
  show->add_option("sources", options->sources,
                   "Folders and files; default: the folder of captures (see `attune paths`)");
  show->add_option("-t,--table", options->tables,
                   "Tuned table that states the times, F:F2 for several; give it once for each family. Default: the "
                   "tables of the run time");
  show->add_option("--op", options->op, "Only this family; also the family of files whose names do not identify it");
  add_device_flags(*show, options->devices, "Device whose rows are considered; default: the first GPU, else cpu:0");
  show->add_option("--top", options->top, "Number of shapes to list; default: 0, all of them")
      ->check(natural_number_error);
  add_json_flag(*show, options->json);
  auto* merge =
      add("merge", "Merge captured shapes into one list for attune tune -i, most called first", merge_captured);
  merge->add_option("sources", options->sources,
                    "Folders and files; default: the folder of captures (see `attune paths`)");
  merge->add_option("-o,--output", options->output, "List of shapes to write")->required();
  merge->add_option("--counts", options->counts,
                    "File for the total calls of each shape; default: the output's name with .counts appended");
  merge->add_option("--op", options->op, "Family to merge, if the sources hold several");
  merge->add_option("--min-calls", options->limits.min_calls, "Skip shapes that were called less often")
      ->check(natural_number_error);
  merge->add_option("--max-m", options->limits.max_m, "Skip shapes with more rows (tokens)")
      ->check(positive_number_error);
  auto* clear = add("clear", "Remove captured shapes and counts from a folder, and nothing else", clear_captured);
  clear->add_option("folder", options->sources, "Folder; default: the folder of captures (see `attune paths`)")
      ->expected(1);
}

}  // namespace

Command capture_command() {
  return {CommandGroup::run_time, "capture",
          "Show, merge or clear the shapes that programs called under ATTUNE_TUNE_GEMM=1", add_capture_flags};
}

}  // namespace attune
