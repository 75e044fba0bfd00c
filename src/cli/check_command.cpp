// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "campaign/journal_run.h"
#include "campaign/open_devices.h"
#include "cli/arguments.h"
#include "cli/check_options.h"
#include "cli/command.h"
#include "core/turn.h"
#include "formats/csv/table.h"
#include "formats/tune_gemm/tune_gemm.h"
#include "measure/contenders.h"
#include "ops/family.h"
#include "ops/op.h"
#include "report/json_output.h"
#include "report/result_table.h"
#include "report/results_file.h"
#include "report/row_speed.h"
#include "solver/contender.h"
#include "tuner/interleaved.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

/// Result of checking a row, from best to worst.
enum class CheckStatus { ok, loaded, foreign, unusable, not_its_time, slower, wrong };
constexpr std::string_view kStandings[] = {
    "ok", "loaded", "foreign device", "unusable", "slower than its row says", "slower than the default", "wrong"};

/// A row of a table or results file, as needed for checking.
struct CheckedRow {
  size_t line = 0;
  Problem problem;
  std::string device;  ///< DeviceInfo::key() of the row; empty: not given.
  std::string model;   ///< Column `device` of the row; empty: not given.
  std::string kernel;
  std::optional<double> us;
  CheckStatus status = CheckStatus::loaded;
  std::string reason;
  double now_us = 0, ratio = 0, ratio_low = 0, ratio_high = 0;
};

std::vector<CheckedRow> read_rows(const CheckOptions& options) {
  std::vector<CheckedRow> rows;
  if (is_yaml(options.table)) {
    for (const TuneGemmEntry& entry : read_tune_gemm(options.table).entries) {
      CheckedRow row{.line = entry.line,
                     .problem = entry.problem,
                     .device = entry.device,
                     .kernel = entry.candidate,
                     .us = entry.us};
      if (row.kernel.empty()) row.reason = "it names no candidate that this program knows";
      rows.push_back(std::move(row));
    }
    return rows;
  }
  const Table table = Table::read(options.table, family_option(options.op));
  if (!table.documents().front().find_column("us"))
    fail(ErrorCode::invalid_input, "{}:1: the file has no column 'us', so it is not a tuned table; name one",
         table.documents().front().name());
  print_notes(table.notices());
  for (const TableRow& row : table.rows()) {
    rows.push_back({.line = row.line,
                    .problem = row.problem,
                    .device = row.gfx + "/" + std::to_string(row.num_units),
                    .model = row.device,
                    .kernel = row.kernel_name,
                    .us = row.us});
  }
  return rows;
}

/// Checks everything that needs no run of the kernel. Returns the candidate if it can run.
std::optional<Candidate> load(CheckedRow& row, Environment& environment) {
  const DeviceInfo& device = environment.device();
  if (!row.device.empty() && row.device != device.key()) {
    row.status = CheckStatus::foreign;
    row.reason = "made on " + row.device;
    return std::nullopt;
  }
  if (!row.model.empty() && row.model != device.model) {
    row.status = CheckStatus::foreign;
    row.reason = "made on another model: " + row.model;
    return std::nullopt;
  }
  row.status = CheckStatus::unusable;
  if (!row.reason.empty()) return std::nullopt;
  try {
    Candidate candidate = Candidate::parse(row.kernel);
    row.problem = op_of(row.problem).normalise(row.problem, device);
    const auto here = contenders(*environment.executor, row.problem, {});
    if (const auto why = why_unusable(candidate, row.problem, here, device)) {
      row.reason = *why;
      // Solver and version match and do not offer the config, so the row's result cannot come from it.
      const Contender* own = find_contender(here, candidate.solver);
      if (own != nullptr && own->support.yes && own->version == candidate.version) row.status = CheckStatus::wrong;
    } else if (!row.us)
      row.reason = "its time is unusable";
    else {
      row.status = CheckStatus::loaded;
      return candidate;
    }
  } catch (const Error& error) {
    row.reason = error.what();
  }
  return std::nullopt;
}

Candidate default_of(const Problem& problem, Environment& environment) {
  if (auto found = untuned_candidate(problem, contenders(*environment.executor, problem, {}))) return *std::move(found);
  fail(ErrorCode::unavailable, "no available solver has a default for the problem: '{}'", problem.key());
}

void run_row(CheckedRow& row, const Candidate& candidate, const CheckOptions& options, Environment& environment) {
  InterleavedOptions how{.rounds = options.verify_only ? 0u : 31u};
  how.protocol.cache = options.inputs == "warm" ? CachePolicy::warm : CachePolicy::cold;
  how.protocol.procedure = "check/1";
  how.kernels = environment.kernels.get();
  how.limits = {milliseconds_of(options.load_deadline_s), milliseconds_of(options.run_deadline_s)};
  std::vector<Candidate> both = {default_of(row.problem, environment), candidate};
  if (both[0] == candidate || options.verify_only) both.erase(both.begin());
  // A slow row is timed again before it is called slower.
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto timed = time_interleaved(*environment.executor, row.problem, both, how);
    const TimedCandidate& mine = timed.back();
    row.status = CheckStatus::ok;
    if (!mine.outcome.ok()) {
      row.status = is_transient(mine.outcome.status) ? CheckStatus::unusable : CheckStatus::wrong;
      row.reason = fmt::format("{}: {}", name(mine.outcome.status), mine.outcome.detail);
      return;
    }
    if (!mine.outcome.measurement) return;
    row.now_us = mine.outcome.measurement->median_us;
    row.ratio = mine.ratio;
    row.ratio_low = mine.ratio_low;
    row.ratio_high = mine.ratio_high;
    const bool slower = both.size() > 1 && is_slower_than_default(row.now_us, row.ratio_high, options.max_slowdown_pct);
    const bool not_its_time =
        row.us && is_slower_than_stated(*mine.outcome.measurement, *row.us, options.slower_than_pct);
    if (!slower && !not_its_time) return;
    row.status = slower ? CheckStatus::slower : CheckStatus::not_its_time;
    row.reason = "in both runs";
    how.seed = 1;
  }
}

ordered_json to_json(const CheckedRow& row) {
  ordered_json object = {{"line", row.line},
                         {"problem", row.problem.key()},
                         {"kernel", row.kernel},
                         {"status", kStandings[static_cast<size_t>(row.status)]},
                         {"reason", row.reason}};
  if (row.us) object["us"] = *row.us;
  if (row.now_us > 0) {
    object["now_us"] = row.now_us;
    object["speedup_over_default"] = row.ratio;
    object["interval"] = {row.ratio_low, row.ratio_high};
  }
  return object;
}

}  // namespace

int run_check(const CheckOptions& options) {
  auto rows = read_rows(options);
  Environment environment = open_environment(options.devices, Isolation::process);
  std::optional<JournalRun> recorded;
  if (!options.no_run) recorded.emplace(options.journal, environment.device());
  if (!options.no_run) wait_for_quiet(environment, options.quiet_wait_s);
  size_t counts[std::size(kStandings)] = {};
  ordered_json list = ordered_json::array();
  for (CheckedRow& row : rows) {
    const auto candidate = load(row, environment);
    if (candidate && !options.no_run) {
      try {
        run_row(row, *candidate, options, environment);
      } catch (const Error& error) {
        row.status = CheckStatus::unusable;
        row.reason = error.what();
      }
    }
    ++counts[static_cast<size_t>(row.status)];
    if (options.json) {
      list.push_back(to_json(row));
    } else if (row.status != CheckStatus::foreign) {
      std::string times = row.us ? fmt::format("{:.2f} µs in the table", *row.us) : "";
      if (row.now_us > 0)
        times += fmt::format(", {:.2f} µs now, {:.3f}× the default [{:.3f}, {:.3f}]", row.now_us, row.ratio,
                             row.ratio_low, row.ratio_high);
      print_line(stdout, fmt::format("{}:{} {}: {}{}{}{}{}", options.table, row.line, short_shape(row.problem),
                                     kStandings[static_cast<size_t>(row.status)], row.reason.empty() ? "" : ", ",
                                     row.reason, times.empty() ? "" : "; ", times));
    }
  }
  if (options.json)
    print_json(list);
  else {
    std::string text;
    for (size_t i = 0; i < std::size(kStandings); ++i) {
      if (counts[i] > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[i], kStandings[i]);
    }
    print_line(stdout, counted(rows.size(), "row") + (text.empty() ? "" : ": ") + text);
  }
  const auto count = [&](CheckStatus status) { return counts[static_cast<size_t>(status)]; };
  const bool suspect = count(CheckStatus::wrong) + count(CheckStatus::slower) + count(CheckStatus::not_its_time) > 0;
  const bool unchecked = !suspect && count(CheckStatus::ok) + count(CheckStatus::loaded) == 0;
  if (unchecked) std::fprintf(stderr, "attune: no row of the file could be checked on this device\n");
  const int status = suspect || unchecked ? 1 : 0;
  if (recorded) recorded->end("done", status);
  return status;
}

void add_check_command(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<CheckOptions>();
  auto* verb = app.add_subcommand(
      "check", "Check every row of a table: whether it loads on this device, is still correct and still as fast");
  verb->add_option("table", options->table, "Tuned CSV, or YAML results")->required();
  verb->add_flag("--no-run", options->no_run, "Do not run the kernels");
  verb->add_option("--op", options->op, "Family, if the file does not identify it");
  verb->add_option("--devices,--device", options->devices, "cpu:0 (default) or fake:0");
  verb->add_option("--journal", options->journal,
                   "Journal that records a run of kernels; default: the one in attune paths, if it exists");
  verb->add_option("--inputs", options->inputs, "cold or warm")
      ->capture_default_str()
      ->check(CLI::IsMember({"cold", "warm"}));
  verb->add_option("--max-slowdown", options->max_slowdown_pct,
                   "Percent by which a row may be slower than the default before it is suspect")
      ->capture_default_str()
      ->check(amount_error);
  verb->add_option("--slower-than", options->slower_than_pct,
                   "Percent by which a row may be slower than its recorded time before it is suspect; the low end of "
                   "the measured interval counts, in two runs")
      ->capture_default_str()
      ->check(amount_error);
  verb->add_option("--quiet-wait", options->quiet_wait_s, "Seconds to wait at the start until other programs are idle")
      ->capture_default_str()
      ->check(amount_error);
  verb->add_option("--run-deadline", options->run_deadline_s, "Seconds a launch may take")
      ->capture_default_str()
      ->check(amount_error)
      ->check(CLI::Range(0.01, 1e6));
  verb->add_option("--load-deadline", options->load_deadline_s, "Seconds that preparing a kernel may take")
      ->capture_default_str()
      ->check(amount_error)
      ->check(CLI::Range(0.01, 1e6));
  verb->add_flag("--json", options->json, "Machine-readable");
  verb->callback([options, &chosen] { chosen = [options] { return run_check(*options); }; });
}

}  // namespace attune
