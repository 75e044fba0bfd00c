// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/line_output.h"
#include "base/text.h"
#include "campaign/open_devices.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "device/devices.h"
#include "dispatch/capture/captured_shapes.h"
#include "dispatch/table/lookup.h"
#include "formats/csv/untuned_table.h"
#include "report/json_output.h"
#include "tables/captured_sources.h"
#include "tables/runtime_tables.h"
#include "tables/table_lookup.h"

namespace attune {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

struct CaptureOptions {
  std::vector<std::string> sources, tables;
  std::string op, device, output, counts;
  uint64_t top = 0, min_calls = 0;
  std::optional<int64_t> max_m;
  bool json = false;
};

/// A captured shape and the row that serves it.
struct ShownShape {
  const CalledShape* shape = nullptr;
  std::string row;           ///< `t.csv:17`; empty: none.
  std::string match;         ///< `exact`; `fallback` without a row.
  std::optional<double> us;  ///< Time of the row.
  double total_us = 0;       ///< Calls × time; 0 if either is unknown.
};

/// Returns the families of the captured shapes.
std::vector<const FamilySpec*> families_of(const std::vector<CapturedShapes>& captured) {
  std::vector<const FamilySpec*> families;
  for (const CapturedShapes& one : captured) families.push_back(one.family);
  return families;
}

ShownShape look_at(const CalledShape& shape, const TableLookup& tables, const DeviceInfo& device) {
  ShownShape shown_shape{&shape, "", std::string(name(Match::fallback)), {}, 0};
  const auto [table, found] =
      tables.find(as_looked_up(shape.problem, device), [](const Candidate&) { return std::optional<std::string>(); });
  if (!found.row) return shown_shape;
  shown_shape.row = fmt::format("{}:{}", table->documents()[found.row->file].name(), found.row->line);
  shown_shape.match = name(found.match);
  shown_shape.us = found.row->us;
  if (found.row->us) shown_shape.total_us = static_cast<double>(shape.calls) * *found.row->us;
  return shown_shape;
}

/// Lists the shapes of all families, sorted by time; shapes without a time follow, sorted by calls.
std::vector<ShownShape> shown_shapes(const std::vector<CapturedShapes>& captured, const std::vector<Table>& tables,
                                     const DeviceInfo& device) {
  const TableLookup lookup(tables, device);
  std::vector<ShownShape> all;
  for (const CapturedShapes& one : captured) {
    for (const CalledShape& shape : one.shapes) all.push_back(look_at(shape, lookup, device));
  }
  std::stable_sort(all.begin(), all.end(), [](const ShownShape& one, const ShownShape& other) {
    return std::pair(one.total_us, one.shape->calls) > std::pair(other.total_us, other.shape->calls);
  });
  return all;
}

struct Totals {
  double us = 0, calls = 0, calls_without_row = 0;
  size_t num_without_row = 0;
};

Totals totals_of(const std::vector<ShownShape>& shapes) {
  Totals totals;
  for (const ShownShape& one : shapes) {
    const auto calls = static_cast<double>(one.shape->calls);
    totals.us += one.total_us;
    totals.calls += calls;
    if (one.row.empty()) {
      ++totals.num_without_row;
      totals.calls_without_row += calls;
    }
  }
  return totals;
}

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

void print_shapes(const std::vector<ShownShape>& shapes, size_t num_shown, const Totals& totals) {
  const bool timed = totals.us > 0;
  const std::string time_head = timed ? fmt::format("{:>7}  {:>10}  ", "time", "µs") : "";
  print_line(stdout, fmt::format("{:>7}  {:>12}  {}{:<13}  shape", "calls", "", time_head, "row"));
  for (size_t i = 0; i < num_shown; ++i) {
    const ShownShape& one = shapes[i];
    std::string times;
    if (timed)
      times = one.us ? fmt::format("{:>6.1f}%  {:>10.2f}  ", percent(one.total_us, totals.us), *one.us)
                     : fmt::format("{:>7}  {:>10}  ", "", "");
    const auto calls = static_cast<double>(one.shape->calls);
    print_line(stdout, fmt::format("{:>6.1f}%  {:>12}  {}{:<13}  {}", percent(calls, totals.calls), one.shape->calls,
                                   times, one.row.empty() ? "none" : one.match, one.shape->problem.key()));
  }
}

void print_shapes_json(const std::vector<ShownShape>& shapes, size_t num_shown, const Totals& totals,
                       const DeviceInfo& device) {
  ordered_json list = ordered_json::array();
  for (size_t i = 0; i < num_shown; ++i) {
    const ShownShape& one = shapes[i];
    const auto calls = static_cast<double>(one.shape->calls);
    ordered_json object = {{"problem", one.shape->problem.key()},
                           {"family", one.shape->problem.op()},
                           {"calls", one.shape->calls},
                           {"calls_share", percent(calls, totals.calls) / 100},
                           {"match", one.match}};
    if (!one.row.empty()) object["row"] = one.row;
    if (one.us) {
      object["us"] = *one.us;
      object["time_share"] = percent(one.total_us, totals.us) / 100;
    }
    list.push_back(std::move(object));
  }
  print_json({{"device", device.key()},
              {"num_shapes", shapes.size()},
              {"num_without_row", totals.num_without_row},
              {"calls_share_without_row", percent(totals.calls_without_row, totals.calls) / 100},
              {"shapes", list}});
}

int show_captures(const CaptureOptions& options) {
  const auto sources = capture_sources(options.sources);
  const auto captured = captured_shapes(options.sources, options.op);
  const DeviceInfo device = find_device(options.device);
  const auto tables = tables_to_look_in(options.tables, options.op, families_of(captured));
  const auto shapes = shown_shapes(captured, tables, device);
  const Totals totals = totals_of(shapes);
  const size_t num_shown = options.top > 0 ? std::min<size_t>(options.top, shapes.size()) : shapes.size();
  if (options.json) {
    print_shapes_json(shapes, num_shown, totals, device);
    return 0;
  }
  if (shapes.empty()) {
    print_line(stdout, "no shapes were captured in " + list_of(sources));
    return 0;
  }
  print_shapes(shapes, num_shown, totals);
  std::string end = counted(shapes.size(), "shape");
  if (num_shown < shapes.size()) end = fmt::format("{} of {}", num_shown, end);
  print_line(stdout, fmt::format("{}; {} without a row on {}, {:.1f} % of the calls", end, totals.num_without_row,
                                 device.key(), percent(totals.calls_without_row, totals.calls)));
  return 0;
}

/// Returns the only captured family; fails if there are several.
CapturedShapes merged_family(std::vector<CapturedShapes> captured, const std::vector<fs::path>& sources) {
  if (captured.empty()) fail(ErrorCode::invalid_input, "there are no captured shapes to merge in {}", list_of(sources));
  if (captured.size() > 1) {
    std::vector<std::string> names;
    for (const CapturedShapes& one : captured) names.emplace_back(one.family->op);
    fail(ErrorCode::invalid_input, "the shapes are of {}, one file holds one family: choose it with --op",
         join(names, ", "));
  }
  return std::move(captured.front());
}

/// Whether read_captures() of the source may read a file at this path.
bool is_read_with(const fs::path& source, const fs::path& file) {
  const fs::path folder = file.parent_path();
  if (fs::is_directory(source)) return folder == source || folder == source / "counts";
  return file == source || file == fs::path(source.string() + ".counts") || folder == source.parent_path() / "counts";
}

/// Refuses outputs that would be read with the sources (calls would count twice), and outputs that would overwrite
/// other files.
void check_merge_outputs(const fs::path& output, const fs::path& counts, const std::vector<fs::path>& sources,
                         const FamilySpec& family) {
  const auto whole = [](const fs::path& path) { return fs::weakly_canonical(fs::absolute(path)); };
  const fs::path target = whole(output);
  for (const fs::path& source : sources) {
    for (const fs::path& file : {output, counts}) {
      if (!is_read_with(whole(source), whole(file))) continue;
      fail(ErrorCode::invalid_input, "the output must be none of the sources, nor lie among them, name another: '{}'",
           shown(file.string(), 500));
    }
  }
  if (whole(counts) == target)
    fail(ErrorCode::invalid_input, "-o and --counts name one file, name two: '{}'", shown(output.string(), 500));
  check_output(output);
  check_output(counts);
  check_untuned_output(output, family);
  std::error_code missing;
  if (!fs::is_regular_file(counts, missing) || fs::file_size(counts, missing) == 0) return;
  if (!CsvDocument::read(counts).find_column(kCallsColumn))
    fail(ErrorCode::invalid_input, "the file is there and has no counts, name another: '{}'",
         shown(counts.string(), 500));
}

int merge_captures(const CaptureOptions& options) {
  const auto sources = capture_sources(options.sources);
  CapturedShapes merged = merged_family(captured_shapes(options.sources, options.op), sources);
  const size_t num_read = merged.shapes.size();
  std::erase_if(merged.shapes, [&](const CalledShape& shape) {
    return shape.calls < options.min_calls || (options.max_m && rows_of_a(shape.problem) > *options.max_m);
  });
  if (merged.shapes.empty())
    fail(ErrorCode::invalid_input, "no shape of {} is left, give a lower --min-calls or a higher --max-m", num_read);
  const fs::path counts = options.counts.empty() ? options.output + ".counts" : options.counts;
  check_merge_outputs(options.output, counts, sources, *merged.family);
  std::vector<Problem> problems;
  for (const CalledShape& shape : merged.shapes) problems.push_back(shape.problem);
  write_file_atomically(options.output, untuned_text(*merged.family, problems));
  write_counts(counts, *merged.family, merged.shapes);
  std::string text = fmt::format("{} of {} in '{}', calls in '{}'", counted(problems.size(), "shape"),
                                 merged.family->op, options.output, counts.string());
  if (num_read > problems.size()) text += fmt::format("; {} left out", num_read - problems.size());
  print_line(stdout, text);
  return 0;
}

int clear_captured(const CaptureOptions& options) {
  const auto sources = capture_sources(options.sources);
  if (!options.sources.empty() && !fs::is_directory(sources.front()))
    fail(ErrorCode::invalid_input, "a folder of captured files is wanted: '{}'", shown(sources.front().string(), 500));
  const size_t num_removed = clear_captures(sources.front());
  print_line(stdout, fmt::format("{} removed from {}", counted(num_removed, "file"), list_of(sources)));
  return 0;
}

}  // namespace

void add_capture_command(CLI::App& app, Action& chosen) {
  auto* verb =
      app.add_subcommand("capture", "Shapes that programs called under ATTUNE_TUNE_GEMM=1: show, merge, clear");
  verb->require_subcommand(1);
  auto options = std::make_shared<CaptureOptions>();
  const auto add = [&](const char* name, const char* help, int (*run)(const CaptureOptions&)) {
    auto* sub = verb->add_subcommand(name, help);
    sub->callback([options, run, &chosen] { chosen = [options, run] { return run(*options); }; });
    return sub;
  };
  auto* show =
      add("show", "Shapes by their share of the time, where a table knows it, else of the calls", show_captures);
  show->add_option("sources", options->sources, "Folders and files; default: captures of attune paths");
  show->add_option("-t,--table", options->tables,
                   "Tuned table that the times are from, F:F2 for several; once for each family. Default: those that "
                   "the run time reads");
  show->add_option("--op", options->op, "One family only; the family of files whose name does not tell");
  show->add_option("--device", options->device, "Device whose rows count; default cpu:0");
  show->add_option("--top", options->top, "Only the first N; 0, the default: all")->check(natural_number_error);
  show->add_flag("--json", options->json, "Machine-readable");
  auto* merge = add("merge", "One list of shapes of several, most called first, for attune tune -i", merge_captures);
  merge->add_option("sources", options->sources, "Folders and files; default: captures of attune paths");
  merge->add_option("-o,--output", options->output, "List of shapes to write")->required();
  merge->add_option("--counts", options->counts, "File of the sums of the calls; default: FILE.counts beside it");
  merge->add_option("--op", options->op, "Family, when a folder holds several");
  merge->add_option("--min-calls", options->min_calls, "Leaves out shapes that were called less often")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 62));
  merge->add_option("--max-m", options->max_m, "Leaves out shapes with more rows (tokens)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  auto* clear = add("clear", "Removes captured shapes and counts from a folder, and nothing else", clear_captured);
  clear->add_option("folder", options->sources, "Folder; default: captures of attune paths")->expected(1);
}

}  // namespace attune
