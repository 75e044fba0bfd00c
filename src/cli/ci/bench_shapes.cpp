// SPDX-License-Identifier: MIT
#include "cli/ci/bench_shapes.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/line_output.h"
#include "base/text.h"
#include "campaign/devices/open_devices.h"
#include "campaign/interrupt.h"
#include "campaign/journal_run.h"
#include "cli/flags/device_flags.h"
#include "device/devices.h"
#include "formats/csv/architectures.h"
#include "formats/csv/csv_document.h"
#include "pipeline/contest_options.h"
#include "pipeline/run/shape_json.h"
#include "pipeline/shape_times.h"
#include "report/comparison_output.h"
#include "report/json_output.h"
#include "report/result_table.h"
#include "tables/runtime_tables.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

std::string line_of(const ShapeTimes& times) {
  std::string line = short_shape(times.shape.problem) + ": ";
  if (!times.ok()) return line + times.reason;
  line += fmt::format("{:.2f} µs", times.served->comparison.us);
  const std::string no_default = "no library serves it, so there is no default";
  if (times.kernel.row.empty()) return line + ", no row, " + (times.baseline ? "the default" : no_default);
  line += fmt::format(" ({}, {}", name(times.kernel.match), times.kernel.row);
  if (times.kernel.stated_us) line += fmt::format(" states {:.2f} µs", *times.kernel.stated_us);
  if (!times.baseline) return line + "), " + no_default;
  return line + fmt::format("), default {:.2f} µs, speed against it {}", times.baseline->comparison.us,
                            ratio_text(times.served->comparison));
}

/// The tables that are searched: named ones, else the file if it has times, else those of the run time.
TableSet tables_of(const BenchShapesOptions& options, const FamilySpec* family) {
  std::vector<std::string> named = options.tables;
  if (named.empty() && CsvDocument::read(options.file).find_column("us")) named.push_back(options.file);
  const std::string op = family != nullptr ? std::string(family->op) : options.op;
  return read_table_set(named, op, wanted_families(op));
}

}  // namespace

int run_bench_shapes(const BenchShapesOptions& options, RunOptions run) {
  const InterruptHandler handler;
  check_is_one_device(run.devices);
  run.devices.ids = device_id(run.devices, architectures_in(options.file));
  const DeviceInfo device = find_device(run.devices);
  const DeviceShapes shapes = read_device_shapes(options.file, {options.op, {}, {}}, device);
  print_notes(shapes.notices);
  const FamilySpec* family = shapes.shapes.empty() ? nullptr : find_family(shapes.shapes.front().problem.op());
  const TableSet set = tables_of(options, family);
  print_notes(set.notices);
  const TableLookup lookup(set, device);
  const Environment environment = open_environment(run.devices, Isolation::process, {}, is_interrupted);
  JournalRun recorded(run.journal, device);
  wait_for_quiet(environment, run.quiet_wait_s, is_interrupted);

  auto how =
      contest_options<InterleavedOptions>({run.cache_policy(), options.seed, run.limits()}, environment, "bench/1");
  how.rounds = options.rounds;
  ordered_json list = ordered_json::array();
  size_t num_timed = 0;
  if (!options.json) print_line(stdout, options.file + " on " + device_text(device));
  for (const Shape& shape : shapes.shapes) {
    const ShapeTimes times = time_shape(shape, lookup, *environment.executor, how);
    if (is_interrupted()) break;
    num_timed += times.ok();
    if (options.json)
      list.push_back(times_json(times));
    else
      print_line(stdout, line_of(times));
  }
  if (options.json) print_json({{"device", device.key()}, {"shapes", list}});
  if (!options.json) print_line(stdout, counted_of(num_timed, shapes.shapes.size(), "shape") + " timed");
  const int status = is_interrupted() ? interrupt_status() : num_timed < shapes.shapes.size() ? 1 : 0;
  recorded.end(is_interrupted() ? "interrupted" : "done", status);
  return status;
}

}  // namespace attune
