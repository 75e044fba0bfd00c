// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flags/device_flags.h"
#include "cli/flags/problem_option.h"
#include "cli/flags/value_checks.h"
#include "device/devices.h"
#include "formats/device_info/device_info.h"
#include "report/document/html_report.h"
#include "report/document/journal_model.h"
#include "report/document/json_report.h"
#include "report/document/junit_report.h"
#include "report/document/markdown_report.h"
#include "report/document/report_output.h"
#include "report/journal_listing.h"
#include "report/output_files.h"
#include "store/journal.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

struct ReportOptions {
  std::string source, output, format, info_file;
  int64_t run = 0;
};

/// The format that the name of the output means, unless one is named.
std::string format_of(const ReportOptions& options) {
  if (!options.format.empty()) return options.format;
  const std::string extension = to_lower(fs::path(options.output).extension().string());
  if (extension == ".md") return "md";
  if (extension == ".json") return "json";
  return extension == ".xml" ? "junit" : "html";
}

/// What a pipeline's run left: a folder with results.json, or that file itself.
bool is_results(const fs::path& source) {
  std::error_code missing;
  return fs::is_directory(source, missing) || source.extension() == ".json";
}

fs::path source_file(const ReportOptions& options) {
  if (options.source.empty()) return journal_file("");
  const fs::path source = options.source;
  std::error_code missing;
  return fs::is_directory(source, missing) ? source / "results.json" : source;
}

ReportModel read_results(const ReportOptions& options, const fs::path& file) {
  if (options.run > 0)
    fail(ErrorCode::invalid_input, "--run selects a run of a journal, and the source is a pipeline's results: '{}'",
         shown(file.string(), 500));
  return parse_report_json(read_file(file), file.string());
}

ReportModel read_journal(const ReportOptions& options, const fs::path& file) {
  // Described devices count before those of this machine: they may state a bandwidth.
  std::vector<DeviceInfo> devices;
  if (!options.info_file.empty()) devices = read_device_info(options.info_file);
  const auto journal = open_sql_journal_read_only(file);
  check_run(*journal, options.run);
  for (DeviceInfo& device : list_devices()) devices.push_back(std::move(device));
  JournalModelOptions how{.devices = devices};
  if (options.run > 0) how.run = options.run;
  ReportModel model = model_of(*journal, how);
  note_damaged(model.num_damaged, file);
  if (model.decisions.empty() && model.num_records == 0)
    fail(ErrorCode::invalid_input, "there is nothing to report, no candidate was measured: '{}'",
         shown(file.string(), 500));
  return model;
}

std::string text_of(const ReportModel& model, const std::string& format) {
  if (format == "md") return markdown_text(model);
  if (format == "json") return report_json(model);
  return format == "junit" ? junit_text(model) : html_text(model);
}

int run_report(const ReportOptions& options) {
  const fs::path file = source_file(options);
  const OutputFile output{"--output", options.output};
  check_distinct_outputs(std::span(&output, 1), {"the source", file});
  check_report_output(options.output);
  const ReportModel model = is_results(file) ? read_results(options, file) : read_journal(options, file);
  write_file_atomically(options.output, text_of(model, format_of(options)));
  print_line(stdout, fmt::format("{}: {} of {}", options.output, counted(model.decisions.size(), "decision"),
                                 counted(model.num_runs, "run")));
  return 0;
}

void add_report_flags(CLI::App& command, Action& chosen) {
  auto options = std::make_shared<ReportOptions>();
  options->output = "report.html";
  command.add_option("source", options->source,
                     "Journal, or folder that `attune ci run` has written; default: the user's journal (see `attune "
                     "paths`)");
  command.add_option("-o,--output", options->output, "File to write")->capture_default_str();
  command.add_option("--format", options->format, "html, md, json or junit; default: by the end of the file's name")
      ->check(CLI::IsMember({"html", "md", "json", "junit"}));
  command
      .add_option("--run", options->run, "Only this run of the journal: its number, which `attune journal show` prints")
      ->check(positive_number_error);
  add_device_info_flag(command, options->info_file);
  command.get_option("--device-info")
      ->description(
          "File that describes devices whose peaks and bandwidth the roofline shows, besides those of this machine: "
          "the "
          "output of `attune list devices --json` there");
  command.footer(
      "An HTML report is one file that needs no network. The other forms are for job summaries (md), programs (json,\n"
      "docs/formats/report.md) and lists of tests (junit).");
  command.callback([options, &chosen] { chosen = [options] { return run_report(*options); }; });
}

}  // namespace

Command report_command() {
  return {CommandGroup::inspect, "report",
          "Write what a journal or a pipeline's run found as HTML, Markdown, JSON or JUnit", add_report_flags};
}

}  // namespace attune
