// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/line_output.h"
#include "base/text.h"
#include "campaign/devices/open_devices.h"
#include "campaign/interrupt.h"
#include "campaign/journal_run.h"
#include "campaign/live_line.h"
#include "cli/check_options.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/device_flags.h"
#include "cli/flags/value_checks.h"
#include "cli/miopen/miopen_check.h"
#include "compile/compiler.h"
#include "device/device_kind.h"
#include "device/devices.h"
#include "formats/csv/architectures.h"
#include "formats/csv/ban_file.h"
#include "formats/csv/csv_document.h"
#include "formats/tune_gemm/tune_gemm.h"
#include "ops/family.h"
#include "ops/gemm/gemm_shape.h"
#include "report/comparison_output.h"
#include "report/json_output.h"
#include "report/result_table.h"
#include "tables/miopen/miopen_file.h"
#include "tables/row_check.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const CheckedRow& row, const DeviceInfo& device) {
  ordered_json object = {{"row", row.place},       {"line", row.line},     {"problem", row.problem.key()},
                         {"device", device.key()}, {"kernel", row.kernel}, {"status", name(row.status)},
                         {"reason", row.reason}};
  if (row.us) object["table_us"] = *row.us;
  if (row.comparison.us > 0) add_comparison(object, row.comparison);
  return object;
}

std::string line_of(const CheckedRow& row) {
  const std::string shape = row.problem.op().empty() ? "" : " " + short_shape(row.problem);
  std::string line = fmt::format("{}{}: {}", row.place, shape, name(row.status));
  if (!row.reason.empty()) line += ", " + row.reason;
  if (row.us) line += fmt::format("; {:.2f} µs in the table", *row.us);
  if (row.comparison.us > 0) line += fmt::format(", {:.2f} µs now", row.comparison.us);
  if (row.comparison.us > 0 && row.comparison.ratio > 0)
    line += "; speed against the default " + ratio_text(row.comparison);
  return line;
}

/// A timed row as the older tuner's --benchmark writes it; `T` means row-major (formats/tune_gemm).
std::string benchmark_line(const CheckedRow& row) {
  const auto shape = GemmShape::of(row.problem);
  return fmt::format("{}{},{},{},{},{:.2f},{:.2f}", shape.trans_a ? 'N' : 'T', shape.b_is_kn ? 'T' : 'N', shape.m,
                     shape.n, shape.k, 2 * shape.macs() / row.comparison.us / 1e6, row.comparison.us);
}

/// Stored kernels serve without their compiler, so they are checked without it.
KernelOptions stored_kernels() {
  KernelOptions options;
  for (const Compiler* const one : compilers()) options.stored_toolchains.emplace(one->name(), "");
  return options;
}

/// Opens the device; nothing after an interrupt.
std::optional<Environment> environment_of(const CheckOptions& options) {
  return unless_interrupted([&]() -> std::optional<Environment> {
    return open_environment(options.run.devices, Isolation::process, stored_kernels(), is_interrupted);
  });
}

/// The rows of a file, checked in turn; each is printed as soon as it is checked, or all at the end as JSON.
class CheckRun {
 public:
  CheckRun(const CheckOptions& options, const DeviceInfo& device, std::vector<CheckedRow> rows)
      : options_(options), device_(device), rows_(std::move(rows)), display_([this] { return progress(); }) {
    if (prints_rows()) display_.print_line(options_.table + " on " + device_text(device_), true);
  }

  /// Ends early after an interrupt.
  void check(const Environment& environment) {
    const RowCheckOptions how{.inputs = options_.run.cache_policy(),
                              .run = !options_.no_run,
                              .verify_only = options_.verify_only,
                              .max_slowdown_pct = options_.max_slowdown_pct,
                              .slower_than_pct = options_.slower_than_pct,
                              .limits = options_.run.limits(),
                              .tick = [this] {
                                display_.update();
                                return is_interrupted();
                              }};
    for (CheckedRow& row : rows_) {
      now_ = &row;
      display_.update();
      check_row(row, *environment.executor, environment.kernels.get(), how);
      if (is_interrupted()) return;
      counts_.add(row.status);
      if (!options_.benchmark.empty())
        add_benchmark(row);
      else if (options_.json)
        list_.push_back(to_json(row, device_));
      else if (row.status != CheckStatus::foreign)
        display_.print_line(line_of(row), true);
    }
  }

  /// Prints the counts, and what they mean for the table. Returns the exit status.
  int report() {
    display_.hide();
    if (!options_.benchmark.empty())
      print_benchmark();
    else if (options_.json)
      print_json(list_);
    else
      print_line(stdout, last_line());
    if (!prints_rows() && is_interrupted()) print_notes(std::vector{last_line()});
    if (is_interrupted()) return interrupt_status();
    if (const size_t num = counts_.of(CheckStatus::not_taken); num > 0)
      print_notes(
          std::vector{fmt::format("no lookup on this device takes {}, which could be removed", counted(num, "row"))});
    if (!counts_.is_checked()) print_line(stderr, "attune: no row of the file could be checked on this device");
    if (const auto units = other_threads(); !units.empty())
      print_notes(std::vector{fmt::format("rows are for another number of threads: --threads {} checks them",
                                          fmt::join(units, " or --threads "))});
    const size_t num_unusable = counts_.of(CheckStatus::unusable);
    if (counts_.is_checked() && num_unusable > 0)
      print_line(stderr, fmt::format("attune: {} of this device cannot be used", counted(num_unusable, "row")));
    return counts_.passed(options_.strict) ? 0 : 1;
  }

 private:
  bool prints_rows() const { return !options_.json && options_.benchmark.empty(); }
  /// Rows without a time are named on standard error.
  void add_benchmark(const CheckedRow& row) {
    if (row.comparison.us > 0) benchmark_ += benchmark_line(row) + "\n";
    if (row.comparison.us <= 0 || !row.reason.empty()) print_line(stderr, line_of(row));
  }
  void print_benchmark() const {
    const std::string text = "trans,M,N,K,TFLOPS,us\n" + benchmark_;
    if (options_.benchmark == "-")
      std::fputs(text.c_str(), stdout);
    else
      write_file_atomically(options_.benchmark, text);
  }
  /// Numbers of threads that rows of this host are for, while it is opened with others.
  std::set<int64_t> other_threads() const {
    std::set<int64_t> all;
    for (const CheckedRow& row : rows_) {
      const bool is_of_host = units_are_cores(device_) && row.gfx == device_.gfx;
      if (row.status == CheckStatus::foreign && is_of_host && row.num_units != device_.num_units)
        all.insert(row.num_units);
    }
    return all;
  }
  ProgressLine progress() const {
    return {counts_.all(), rows_.size(), counted_of(counts_.all(), rows_.size(), "row") + " checked",
            now_ == nullptr ? "" : "checking " + short_shape(now_->problem), counts_.text()};
  }

  std::string last_line() const {
    const std::string counts = counts_.text();
    std::string line = is_interrupted()
                           ? counted_of(counts_.all(), rows_.size(), "row") + " checked before the interrupt"
                           : counted(rows_.size(), "row");
    return counts.empty() ? line : line + ": " + counts;
  }

  const CheckOptions& options_;
  const DeviceInfo& device_;
  std::vector<CheckedRow> rows_;
  const CheckedRow* now_ = nullptr;
  CheckCounts counts_;
  ordered_json list_ = ordered_json::array();
  std::string benchmark_;  ///< Lines of the timed rows.
  LiveLine display_;
};

std::vector<std::string> architectures_of(const std::string& table) {
  return is_yaml(table) ? architectures_in_tune_gemm(table) : architectures_in(table);
}

}  // namespace

int run_check(CheckOptions options) {
  if (!options.benchmark.empty()) {
    if (!is_yaml(options.table))
      fail(ErrorCode::invalid_input, "--benchmark times the entries of YAML results, and this is another file: '{}'",
           shown(options.table, 500));
    if (options.json) fail(ErrorCode::invalid_input, "--benchmark cannot be combined with --json: it writes CSV");
    if (options.benchmark != "-") check_output(options.benchmark);
  }
  if (miopen_file_or_named(options.table) != MiopenFile::none) {
    static_cast<void>(family_of_foreign_file("conv", options.op, "a file of MIOpen"));
    check_is_one_device(options.run.devices);
    return run_miopen_check(options.table, options.run.devices, options.json);
  }
  const InterruptHandler handler;
  check_is_one_device(options.run.devices);
  options.run.devices.ids = device_id(options.run.devices, architectures_of(options.table));
  const DeviceInfo device = find_device(options.run.devices);
  const auto environment = environment_of(options);
  std::vector<std::string> notices;
  const auto bans = bans_of_user(notices);
  auto rows = read_rows_to_check(options.table, options.op, device, notices, *bans, [&](const TableRow& row) {
    return environment && can_serve(row, *environment->executor, environment->kernels.get(), is_interrupted);
  });
  print_notes(notices);
  std::optional<JournalRun> recorded;
  const bool measures =
      std::ranges::any_of(rows, [](const CheckedRow& row) { return row.status != CheckStatus::foreign; });
  if (environment && !options.no_run) {
    recorded.emplace(options.run.journal, environment->device());
    if (measures) wait_for_quiet(*environment, options.run.quiet_wait_s, is_interrupted);
  }
  CheckRun run(options, device, std::move(rows));
  if (environment && !is_interrupted()) run.check(*environment);
  const int status = run.report();
  if (recorded) recorded->end(is_interrupted() ? "interrupted" : "done", status);
  return status;
}

namespace {

void add_check_flags(CLI::App& command, Action& chosen) {
  auto options = std::make_shared<CheckOptions>();
  command.add_option("table", options->table, "Tuned CSV, YAML results, or a file of MIOpen")->required();
  command.add_flag("--no-run", options->no_run, "Do not run the kernels");
  command.add_flag("--strict", options->strict, "Fail if the speed of a row stays unknown");
  command.add_option("--op", options->op, "Family, if the file does not identify it");
  add_run_flags(command, options->run,
                "Device; default: the one whose architecture the rows name (gfx; in YAML device), else the first GPU, "
                "else cpu:0");
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
  command.footer(
      "Each row gets one of these verdicts:\n"
      "  ok                      correct, and as fast as the row states and as the default\n"
      "  loaded                  it could be run (--no-run)\n"
      "  not taken               ok or loaded, but no lookup on this device takes it: it has a _tag, or another row "
      "of\n"
      "                          its key wins\n"
      "  unknown                 correct, but other work disturbed all samples; check it again\n"
      "  foreign device          of another device, not checked\n"
      "  unusable                it cannot be read or run, or states no time\n"
      "  slower than its row says, slower than the default, wrong\n"
      "The exit status is 1 if a row is unusable, slower or wrong (with --strict: or unknown), or if none could be "
      "checked. An interrupt prints "
      "what "
      "was\nchecked until then.");
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
