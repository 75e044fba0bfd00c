// SPDX-License-Identifier: MIT
#include "tables/row_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "formats/csv/table.h"
#include "formats/csv/table_columns.h"
#include "formats/tune_gemm/tune_gemm.h"
#include "measure/contenders.h"
#include "ops/op.h"
#include "ops/packed_weights.h"
#include "solver/contender.h"
#include "tables/row_speed.h"
#include "tuner/interleaved.h"

namespace attune {
namespace {

/// Why a candidate has no kernel: none is stored and its compiler is missing. Empty: it has one, or gets it.
std::string why_unbuilt(const Problem& problem, const Candidate& candidate, const Contender& own, Kernels* kernels) {
  if (kernels == nullptr || candidate.config.values().empty()) return {};  // The default config is not known yet.
  const Kernels::Request request{&problem, &own, candidate};
  const Kernels::BuildResult found = kernels->find({&request, 1}).front();
  return found.is_unbuilt ? "its kernel is not in the cache: " + found.outcome.detail : "";
}

/// Checks everything that needs no run of the kernel. Returns the candidate if it can run.
std::optional<Candidate> load(CheckedRow& row, Executor& executor, Kernels* kernels, const Tick& tick) {
  std::string version;  // Of its solver here.
  const auto usable = [&](const Candidate& candidate) {
    row.problem = op_of(row.problem).normalise(row.problem, executor.device());
    const auto all = contenders(executor, row.problem, {}, tick, std::vector{candidate});
    const Contender* const own = find_contender(all, candidate.solver);
    if (own != nullptr) version = own->version;
    auto why = why_unusable(candidate, row.problem, own, executor.device());
    if (why) return why;
    std::string unbuilt = why_unbuilt(row.problem, candidate, *own, kernels);
    return unbuilt.empty() ? std::nullopt : std::optional(std::move(unbuilt));
  };
  RowKernel kernel = row_kernel(row.kernel, row.layout, usable);
  if (kernel.why_unservable) {
    row.reason = *kernel.why_unservable;
    return std::nullopt;
  }
  row.status = CheckStatus::loaded;
  if (names_any_version(*kernel.candidate)) kernel.candidate->version = version;
  return std::move(kernel.candidate);
}

/// Nothing if no library serves the problem.
std::optional<Candidate> default_of(const Problem& problem, Executor& executor, const Tick& tick) {
  auto found = baseline_candidate(problem, contenders(executor, problem, {}, tick, std::vector<Candidate>{}));
  if (found && !gives_default(op_of(problem).family(), *found)) found.reset();
  return found;
}

void run(CheckedRow& row, const Candidate& candidate, Executor& executor, Kernels* kernels,
         const RowCheckOptions& options) {
  InterleavedOptions how{.rounds = options.verify_only ? 0u : 31u, .kernels = kernels, .limits = options.limits};
  how.tick = options.tick;
  how.protocol.cache = options.inputs;
  how.protocol.procedure = "check/1";
  how.protocol.require = row.require;
  std::vector<Candidate> both = {candidate};
  const auto usual = options.verify_only ? std::nullopt : default_of(row.problem, executor, options.tick);
  if (usual && *usual != candidate) both.insert(both.begin(), *usual);
  how.first_is_best_default = both.size() > 1;
  // A slow row is timed again before it is called slower.
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto timed = time_interleaved(executor, row.problem, both, how);
    const TimedCandidate& mine = timed.back();
    row.status = CheckStatus::ok;
    if (!mine.outcome.ok()) {
      row.status = is_transient(mine.outcome.status) ? CheckStatus::unusable : CheckStatus::wrong;
      row.reason = fmt::format("{}: {}", name(mine.outcome.status), mine.outcome.detail);
      return;
    }
    if (!mine.outcome.measurement) return;
    row.comparison = usual ? mine.comparison : without_ratio(mine.comparison);
    row.reason = usual ? "" : "no library serves the shape, so there is no default";
    if (const Outcome& of_default = timed.front().outcome; !of_default.ok())
      row.reason = fmt::format("the default is not compared, {}: {}", name(of_default.status), of_default.detail);
    if (both.size() > 1 && row.reason.empty() && row.comparison.ratio == 0) {
      row.status = CheckStatus::unknown;
      row.reason = "other work disturbed its samples or the default's in every round, check it again";
    }
    const bool is_slow = both.size() > 1 && row.comparison.ratio > 0 && row.require == Requirement::none &&
                         is_slower_than_baseline(row.comparison, options.max_slowdown_pct);
    if (!is_slow && !(row.us && is_slower_than_stated(*mine.outcome.measurement, *row.us, options.slower_than_pct)))
      return;
    row.status = is_slow ? CheckStatus::slower_than_baseline : CheckStatus::slower_than_stated;
    row.reason += row.reason.empty() ? "in both runs" : "; in both runs";
    how.seed = 1;
  }
}

/// Why an entry of YAML results names no kernel of this program.
std::string why_no_kernel(const TuneGemmEntry& entry) {
  const auto names_units = [](const auto& one) { return one.first == "NUM_SMS"; };
  return std::ranges::any_of(entry.parameters, names_units)
             ? "NUM_SMS names the script's stream-K kernel, which is not among this program's"
             : "it names no candidate that this program knows";
}

/// Entries may name parameters that no compiler for `device` takes: `notices` say so once.
std::vector<CheckedRow> rows_of_yaml(const std::string& file, const DeviceInfo& device,
                                     std::vector<std::string>& notices) {
  std::vector<CheckedRow> rows;
  std::set<std::string> ignored;
  for (const TuneGemmEntry& entry : read_tune_gemm_results(file)) {
    for (const auto& [name, value] : entry.parameters) {
      if (is_amd_parameter(name) && device.kind != "hip") ignored.insert(name);
    }
    CheckedRow& row = rows.emplace_back();
    row.line = entry.line;
    row.place = fmt::format("{}:{}", file, entry.line);
    row.problem = entry.problem;
    row.kernel = kernel_of(entry);
    row.us = entry.us;
    if (entry.candidate.empty()) row.reason = kernel_flaw_of(entry);
    if (row.kernel.empty() && row.reason.empty()) row.reason = why_no_kernel(entry);
    if (entry.device.empty() || entry.device == device.key()) continue;
    row.status = CheckStatus::foreign;
    row.reason = "made on " + entry.device;
  }
  if (!ignored.empty())
    notices.push_back(fmt::format("{}: these parameters are of AMD's compiler, kernels are checked without them: {}",
                                  file, join({ignored.begin(), ignored.end()}, ", ")));
  return rows;
}

/// Notes what the row's status on the device says before it is checked.
void note_status(CheckedRow& checked, const Table& table, const RowReport& report) {
  const TableRow& row = *report.row;
  const std::string detail = detail_of(table, report);
  switch (report.status) {
    case RowStatus::taken:
      return;
    case RowStatus::other_device:
      checked.status = CheckStatus::foreign;
      checked.reason = fmt::format("made on {}/{}", row.gfx, row.num_units);
      return;
    case RowStatus::other_model:
      checked.status = CheckStatus::foreign;
      checked.reason = "made on another model: " + detail;
      return;
    case RowStatus::without_time:
      checked.reason = detail;
      return;
    default:
      checked.why_not_taken = fmt::format("{}: {}", name(report.status), detail);
  }
}

/// Returns a cell of a row that has it; else an empty text.
std::string_view cell_of(const CsvDocument& document, size_t row, std::string_view column) {
  const auto place = document.find_column(column);
  return place ? trim(document.cell(row, *place)) : std::string_view();
}

/// Puts the rows that cannot be read to the others, in the order of the files. One that is plainly of another device is
/// foreign, the others are unusable.
void add_unreadable(std::vector<CheckedRow>& rows, const Table& table, const DeviceInfo& device) {
  std::vector<CheckedRow> all;
  size_t next = 0;  // Readable row.
  for (const auto& [file, row, why] : table.unreadable()) {
    const auto is_before = [&, place = std::pair(file, row)](const TableRow& one) {
      return std::pair(one.file, one.row) < place;
    };
    while (next < rows.size() && is_before(table.rows()[next])) all.push_back(std::move(rows[next++]));
    const CsvDocument& document = table.documents()[file];
    CheckedRow& checked = all.emplace_back();
    checked.line = document.line(row);
    checked.place = document.where(row);
    checked.kernel = cell_of(document, row, "kernelName");
    checked.reason = why;
    const std::string gfx(cell_of(document, row, "gfx"));
    const auto units = parse_int(cell_of(document, row, "cu_num"));
    if (!gfx.empty() && units && (gfx != device.gfx || units != device.num_units)) {
      checked.status = CheckStatus::foreign;
      checked.reason = fmt::format("made on {}/{}, and {}", shown(gfx), *units, why);
    }
  }
  for (; next < rows.size(); ++next) all.push_back(std::move(rows[next]));
  rows = std::move(all);
}

}  // namespace

std::string_view name(CheckStatus status) noexcept {
  static constexpr std::array<std::string_view, kNumCheckStatuses> kNames = {"ok",
                                                                             "loaded",
                                                                             "not taken",
                                                                             "unknown",
                                                                             "foreign device",
                                                                             "unusable",
                                                                             "slower than its row says",
                                                                             "slower than the default",
                                                                             "wrong"};
  return kNames[static_cast<size_t>(status)];
}

std::vector<CheckedRow> read_rows_to_check(const std::string& file, const std::string& op, const DeviceInfo& device,
                                           std::vector<std::string>& notices, const BanList& bans,
                                           const RowCheck& can_serve) {
  if (is_yaml(file)) return rows_of_yaml(file, device, notices);
  const Table table = Table::read(file, family_option(op), WrongRows::listed);
  notices.insert(notices.end(), table.notices().begin(), table.notices().end());
  std::vector<CheckedRow> rows;
  for (const RowReport& report : row_statuses(table, &device, Requirement::none, bans, can_serve)) {
    const TableRow& row = *report.row;
    CheckedRow& checked = rows.emplace_back();
    checked.line = row.line;
    checked.gfx = row.gfx;
    checked.num_units = row.num_units;
    checked.place = place_of(table, row);
    checked.problem = row.problem;
    checked.kernel = row.kernel_name;
    checked.require = row.require;
    checked.layout = row.layout;
    checked.us = row.us;
    note_status(checked, table, report);
  }
  const auto reports = row_statuses(table, &device, Requirement::batch_invariant);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (reports[i].status != RowStatus::other_kernel) continue;
    // With several kernels for one weight a result would depend on M.
    rows[i].status = CheckStatus::wrong;
    rows[i].reason = "another row of its weight names another kernel, so it is not batch-invariant";
  }
  add_unreadable(rows, table, device);
  return rows;
}

bool can_serve(const TableRow& row, Executor& executor, Kernels* kernels, const Tick& tick) {
  CheckedRow copy;
  copy.problem = row.problem;
  copy.kernel = row.kernel_name;
  copy.layout = row.layout;
  try {
    return load(copy, executor, kernels, tick).has_value();
  } catch (const Error&) {
    return false;
  }
}

void check_row(CheckedRow& row, Executor& executor, Kernels* kernels, const RowCheckOptions& options) {
  if (row.status == CheckStatus::foreign) return;
  if (row.status != CheckStatus::wrong) row.status = CheckStatus::unusable;
  if (!row.reason.empty()) return;
  try {
    const auto candidate = load(row, executor, kernels, options.tick);
    if (candidate && options.run) run(row, *candidate, executor, kernels, options);
  } catch (const Error& error) {
    row.status = CheckStatus::unusable;
    row.reason = error.what();
  }
  if (row.why_not_taken.empty() || (row.status != CheckStatus::ok && row.status != CheckStatus::loaded)) return;
  row.status = CheckStatus::not_taken;
  row.reason = row.why_not_taken;
}

bool CheckCounts::is_suspect() const {
  return of(CheckStatus::wrong) + of(CheckStatus::slower_than_baseline) + of(CheckStatus::slower_than_stated) > 0;
}

std::string CheckCounts::text() const {
  std::string text;
  for (size_t i = 0; i < kNumCheckStatuses; ++i) {
    if (counts_[i] > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts_[i], name(static_cast<CheckStatus>(i)));
  }
  return text;
}

}  // namespace attune
