// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/line_output.h"
#include "base/locations.h"
#include "base/text.h"
#include "cli/ci/ci_compare.h"
#include "cli/ci/ci_run.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/device_flags.h"
#include "cli/flags/value_checks.h"
#include "formats/csv/ban_file.h"
#include "formats/device_info/device_info.h"
#include "pipeline/miopen/miopen_validation.h"
#include "pipeline/table_files.h"
#include "pipeline/table_validation.h"
#include "report/json_output.h"
#include "solver/registry.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

struct ValidateOptions {
  std::vector<std::string> named;
  std::string op, info_file;
  std::optional<double> max_err_ratio;
  size_t top = 0;
  bool json = false;
};

struct Validation {
  TableFiles files;
  size_t num_rows = 0;
  std::vector<TableFinding> findings;
  std::vector<std::string> notices;  ///< About what is banned.
};

Validation validation_of(const ValidateOptions& options) {
  std::vector<std::filesystem::path> named(options.named.begin(), options.named.end());
  if (named.empty()) {
    check_access(config_location());
    named.push_back(config_location().path);
  }
  MiopenValidation miopen = validate_miopen_files(named);
  Validation result;
  const FamilySpec* const family = family_option(options.op);
  if (!miopen.others.empty()) result.files = read_table_files(miopen.others, family);
  result.files.num_files += miopen.num_files;
  result.num_rows = miopen.num_entries;
  result.findings = std::move(miopen.findings);
  result.findings.insert(result.findings.end(), result.files.findings.begin(), result.files.findings.end());
  std::vector<DeviceInfo> described;
  if (!options.info_file.empty()) described = read_device_info(options.info_file);
  const TableRules rules{known_limits(std::move(described)), &registry(), options.max_err_ratio,
                         bans_of_user(result.notices)};
  for (FamilyFiles& files : result.files.families) {
    const TableStream table(std::move(files.documents), files.family);
    for (const CsvDocument& document : table.documents()) result.num_rows += document.num_rows();
    for (TableFinding& finding : validate(table, rules)) result.findings.push_back(std::move(finding));
  }
  return result;
}

void print_validation_json(const Validation& result, const ValidateOptions& options) {
  ordered_json counts = ordered_json::object();
  const FindingCounts numbers = count_findings(result.findings);
  FindingCounts listed{};
  for (size_t kind = 0; kind < kNumFindingKinds; ++kind)
    counts[std::string(name(static_cast<FindingKind>(kind)))] = numbers[kind];
  JsonPrinter json;
  json.member("num_files", result.files.num_files);
  json.member("num_rows", result.num_rows);
  json.member("num_findings", result.findings.size());
  json.member("counts", counts);
  json.begin_list("findings");
  for (const TableFinding& one : result.findings) {
    if (options.top > 0 && ++listed[static_cast<size_t>(one.kind)] > options.top) continue;
    json.item({{"kind", name(one.kind)},
               {"row", one.place()},
               {"file", one.file},
               {"line", one.line},
               {"problem", one.problem},
               {"detail", one.detail}});
  }
  json.end_list();
  json.member("num_lists", result.files.num_lists);
  json.member("skipped", result.files.skipped);
  json.end();
}

void print_validation(const Validation& result, const ValidateOptions& options) {
  const FindingCounts numbers = count_findings(result.findings);
  FindingCounts listed{};
  for (const TableFinding& one : result.findings) {
    if (options.top > 0 && ++listed[static_cast<size_t>(one.kind)] > options.top) continue;
    print_line(stdout, fmt::format("{}: {}: {}{}{}", one.place(), title(one.kind), one.detail,
                                   one.problem.empty() ? "" : "  ", one.problem));
  }
  print_line(stdout, fmt::format("{} in {}, {}; {} not checked", counted(result.num_rows, "row"),
                                 counted(result.files.num_files, "table"), counted(result.findings.size(), "finding"),
                                 counted(result.files.num_lists, "shape list")));
  for (size_t kind = 0; kind < kNumFindingKinds; ++kind) {
    const bool is_cut = options.top > 0 && numbers[kind] > options.top;
    if (numbers[kind] > 0)
      print_line(stdout, fmt::format("  {:>8}  {}{}", numbers[kind], title(static_cast<FindingKind>(kind)),
                                     is_cut ? fmt::format(" ({} listed; --top 0 lists all)", options.top) : ""));
  }
}

int run_validate(const ValidateOptions& options) {
  const Validation result = validation_of(options);
  print_notes(result.files.skipped);
  print_notes(result.notices);
  if (options.json)
    print_validation_json(result, options);
  else
    print_validation(result, options);
  return result.findings.empty() ? 0 : 1;
}

void add_validate_flags(CLI::App& command, Action& chosen) {
  auto options = std::make_shared<ValidateOptions>();
  command.add_option("tables", options->named,
                     "Tuned tables, files of MIOpen, and folders of them with their model_configs; default: the "
                     "configuration folder (see `attune paths`)");
  command.add_option("--op", options->op, "Family of all tables, if their names and columns do not identify it");
  command
      .add_option("--errRatio,--max-err-ratio", options->max_err_ratio,
                  "Share of wrong elements that a row may state; default: 0.05, of fmoe 0.1")
      ->check(amount_error);
  add_device_info_flag(command, options->info_file);
  command.get_option("--device-info")
      ->description(
          "File that describes devices whose rows are judged like those of this machine's: the output of "
          "`attune list devices --json` there");
  command.add_option("--top", options->top, "Number of findings of each kind to list; 0: all")
      ->check(natural_number_error)
      ->capture_default_str();
  add_json_flag(command, options->json);
  command.footer(
      "No kernel is run (`attune check` runs them), and no table is changed. The findings:\n"
      "  unreadable                 the file is no table, a row has a wrong cell, or is torn\n"
      "  missing column             the family's tables have it; or a row's cell is empty\n"
      "  duplicate key              an earlier row of the file has the key, the device and the layout\n"
      "  unusable time              zero, negative, not finite, or no number\n"
      "  absurd time                below 10 ns or above 10 minutes\n"
      "  below the roofline         faster than the device's peak rate or its memory allows\n"
      "  wrong tflops, wrong bw     they do not follow from the shape and the time, beyond their rounding\n"
      "  too many errors            the row states more wrong elements than the threshold\n"
      "  unknown kernel             it names a kernel of Attune that this build does not have\n"
      "  unreachable                no lookup takes the row: an earlier file has its key, it has a _tag, or it names "
      "no\n"
      "                             device or no possible shape\n"
      "  slower than the padded row without it, its shape would be served faster by the row that it is padded to\n"
      "Of a find-db, perf-db or kernel-db: unreadable, duplicate key, unusable time, unknown kernel (MIOpen and this\n"
      "program lack the solver), unreachable (an orphan, or a key of another device than the file's name states).\n"
      "The exit status is 1 if there is a finding.");
  command.callback([options, &chosen] { chosen = [options] { return run_validate(*options); }; });
}

void add_ci_flags(CLI::App& command, Action& chosen) {
  command.require_subcommand(1);
  add_validate_flags(*command.add_subcommand("validate",
                                             "List the defects of tuned tables, without running a kernel; exit status "
                                             "1 if there are any"),
                     chosen);
  add_ci_compare_flags(*command.add_subcommand("compare",
                                               "Measure whether shapes became slower or faster between two tables; "
                                               "exit status 1 if one became slower"),
                       chosen);
  add_ci_run_flags(
      *command.add_subcommand("run",
                              "Tune families, publish their tables and compare the times before and after; "
                              "exit status 1 if a shape became slower or a family failed"),
      chosen);
}

}  // namespace

Command ci_command() {
  return {CommandGroup::tables, "ci",
          "Commands for pipelines: validate tables, tune, compare the times before and after", add_ci_flags};
}

}  // namespace attune
