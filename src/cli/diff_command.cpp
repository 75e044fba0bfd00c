// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/line_output.h"
#include "campaign/devices/open_devices.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/miopen/miopen_diff.h"
#include "formats/csv/table.h"
#include "formats/csv/table_diff.h"
#include "formats/find_db/find_db.h"
#include "ops/family.h"
#include "pipeline/markdown/diff_markdown.h"
#include "report/diff/diff_json.h"
#include "report/document/diff_html.h"
#include "report/document/report_output.h"
#include "report/json_output.h"
#include "report/output_files.h"
#include "report/result_table.h"
#include "report/results_file.h"

namespace attune {
namespace {

struct DiffOptions {
  std::string before, after, op, html;
  bool json = false, markdown = false;
};

void print(char sign, const RowChange& change) {
  std::string line = fmt::format("{} {}  {}/{}", sign, short_shape(change.problem), change.gfx, change.num_units);
  if (change.ratio)
    line += fmt::format("  {:.4f} → {:.4f} µs, {:.3f}×", *change.old_us, *change.new_us, *change.ratio);
  else if (change.new_us || change.old_us)
    line += fmt::format("  {:.4f} µs", change.new_us ? *change.new_us : *change.old_us);
  print_line(stdout, line);
  for (const ChangedCell& cell : change.cells)
    print_line(stdout, fmt::format("    {}: {} → {}", cell.column, cell.before, cell.after));
}

void print_diff_json(const TableDiff& found) {
  JsonPrinter json;
  for (const auto& [name, changes] :
       {std::pair("added", &found.added), std::pair("removed", &found.removed), std::pair("changed", &found.changed)}) {
    json.begin_list(name);
    for (const RowChange& change : *changes) json.item(change_json(change));
    json.end_list();
  }
  json.member("same", found.num_same);
  json.end();
}

TableStream read_side(const std::string& file, const FamilySpec* family) {
  return is_yaml(file) ? read_yaml_results(file) : TableStream::open(file, family);
}

int run_diff(const DiffOptions& options) {
  if (is_find_db(options.before) || is_find_db(options.after)) {
    if (options.markdown || !options.html.empty() || !options.op.empty())
      fail(ErrorCode::invalid_input, "find-dbs are compared as text or --json, omit --markdown, --html and --op");
    return run_find_db_diff(options.before, options.after, options.json);
  }
  const FamilySpec* family = family_option(options.op);
  if (!options.html.empty()) {
    const OutputFile output{"--html", options.html};
    check_distinct_outputs(std::span(&output, 1), {"the older table", options.before});
    check_distinct_outputs(std::span(&output, 1), {"the newer table", options.after});
    check_report_output(options.html);
  }
  const TableStream before = read_side(options.before, family), after = read_side(options.after, family);
  const TableDiff found = diff(before, after, is_yaml(options.before) != is_yaml(options.after));
  print_notes(found.notices);
  if (!options.html.empty()) {
    write_file_atomically(options.html, diff_html(found, options.before, options.after));
    print_line(stdout, fmt::format("{}: {} added, {} changed, {} removed, {} the same", options.html,
                                   found.added.size(), found.changed.size(), found.removed.size(), found.num_same));
    return 0;
  }
  if (options.json) {
    print_diff_json(found);
    return 0;
  }
  if (options.markdown) {
    std::fputs(diff_markdown(found).c_str(), stdout);
    return 0;
  }
  for (const RowChange& change : found.removed) print('-', change);
  for (const RowChange& change : found.added) print('+', change);
  for (const RowChange& change : found.changed) print('~', change);
  std::printf("%zu added, %zu removed, %zu changed, %zu the same\n", found.added.size(), found.removed.size(),
              found.changed.size(), found.num_same);
  return 0;
}

void add_diff_flags(CLI::App& command, Action& chosen) {
  auto options = std::make_shared<DiffOptions>();
  command.add_option("before", options->before, "Older tuned CSV, YAML results, or find-db")->required();
  command
      .add_option(
          "after", options->after,
          "Newer file; a CSV and a YAML file are compared in the fields that both have, a find-db with a find-db")
      ->required();
  command.add_option("--op", options->op, "Family, if the files do not identify it");
  command.add_flag("--markdown", options->markdown,
                   "Print Markdown, as for a pull request; words that differ are marked");
  command.add_option("--html", options->html, "File to write as HTML: one page that needs no network");
  add_json_flag(command, options->json);
  command.get_option("--markdown")->excludes("--json");
  command.get_option("--html")->excludes("--json")->excludes("--markdown");
  command.callback([options, &chosen] { chosen = [options] { return run_diff(*options); }; });
}

}  // namespace

Command diff_command() {
  return {CommandGroup::tables, "diff",
          "Compare two results files: list rows that were added, removed or changed; cells are compared as numbers",
          add_diff_flags};
}

}  // namespace attune
