// SPDX-License-Identifier: MIT
#include "tables/row_check.h"

#include <fmt/format.h>

#include <array>
#include <map>

#include "base/error.h"
#include "formats/csv/table.h"
#include "formats/csv/table_columns.h"
#include "formats/tune_gemm/tune_gemm.h"
#include "measure/contenders.h"
#include "ops/op.h"
#include "ops/packed_weights.h"
#include "report/results_file.h"
#include "solver/contender.h"
#include "tables/row_speed.h"
#include "tables/row_status.h"
#include "tuner/interleaved.h"

namespace attune {
namespace {

/// Checks everything that needs no run of the kernel. Returns the candidate if it can run.
std::optional<Candidate> load(CheckedRow& row, Executor& executor) {
  const DeviceInfo& device = executor.device();
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
  if (!row.reason.empty()) return std::nullopt;
  Candidate candidate = Candidate::parse(row.kernel);
  row.problem = op_of(row.problem).normalise(row.problem, device);
  const auto here = contenders(executor, row.problem, {});
  if (const auto why = why_unusable(candidate, row.problem, here, device)) {
    row.reason = *why;
    // Solver and version match and do not offer the config, so the row's result cannot come from it.
    const Contender* own = find_contender(here, candidate.solver);
    if (own != nullptr && own->support.yes && own->version == candidate.version) row.status = CheckStatus::wrong;
    return std::nullopt;
  }
  if (const auto why = row.layout ? why_unreadable(candidate, *row.layout) : std::nullopt) {
    row.reason = *why;
    return std::nullopt;
  }
  if (!row.us) {
    row.reason = "it states no time, expected µs above 0";
    return std::nullopt;
  }
  row.status = CheckStatus::loaded;
  return candidate;
}

Candidate default_of(const Problem& problem, Executor& executor) {
  if (auto found = untuned_candidate(problem, contenders(executor, problem, {}))) return *std::move(found);
  fail(ErrorCode::unavailable, "no available solver has a default for the problem: '{}'", problem.key());
}

void run(CheckedRow& row, const Candidate& candidate, Executor& executor, Kernels* kernels,
         const RowCheckOptions& options) {
  InterleavedOptions how{.rounds = options.verify_only ? 0u : 31u, .kernels = kernels, .limits = options.limits};
  how.protocol.cache = options.inputs;
  how.protocol.procedure = "check/1";
  how.protocol.require = row.require;
  std::vector<Candidate> both = {default_of(row.problem, executor), candidate};
  if (both[0] == candidate || options.verify_only) both.erase(both.begin());
  how.first_is_opponent = both.size() > 1;
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
    row.comparison = mine.comparison;
    const bool is_slow = both.size() > 1 && row.require == Requirement::none &&
                         is_slower_than_baseline(row.comparison, options.max_slowdown_pct);
    if (!is_slow && !is_slower_than_stated(*mine.outcome.measurement, *row.us, options.slower_than_pct)) return;
    row.status = is_slow ? CheckStatus::slower_than_baseline : CheckStatus::slower_than_stated;
    row.reason = "in both runs";
    how.seed = 1;
  }
}

}  // namespace

std::string_view name(CheckStatus status) noexcept {
  static constexpr std::array<std::string_view, kNumCheckStatuses> kNames = {
      "ok", "loaded", "foreign device", "unusable", "slower than its row says", "slower than the default", "wrong"};
  return kNames[static_cast<size_t>(status)];
}

std::vector<CheckedRow> read_rows_to_check(const std::string& file, const std::string& op,
                                           std::vector<std::string>& notices) {
  std::vector<CheckedRow> rows;
  if (is_yaml(file)) {
    for (const TuneGemmEntry& entry : read_tune_gemm(file).entries) {
      CheckedRow& row = rows.emplace_back();
      row.line = entry.line;
      row.place = fmt::format("{}:{}", file, entry.line);
      row.problem = entry.problem;
      row.device = entry.device;
      row.kernel = entry.candidate;
      row.us = entry.us;
      if (row.kernel.empty()) row.reason = "it names no candidate that this program knows";
    }
    return rows;
  }
  const Table table = Table::read(file, family_option(op));
  check_is_tuned(table);
  notices.insert(notices.end(), table.notices().begin(), table.notices().end());
  std::map<std::string, std::string> kernels;  // Of batch-invariant weights.
  for (const TableRow& row : table.rows()) {
    CheckedRow& checked = rows.emplace_back();
    checked.line = row.line;
    checked.place = place_of(table, row);
    checked.problem = row.problem;
    checked.device = row.gfx + "/" + std::to_string(row.num_units);
    checked.model = row.device;
    checked.kernel = row.kernel_name;
    checked.require = row.require;
    checked.layout = row.layout;
    checked.us = row.us;
    if (!row.us) checked.reason = time_error(table.cell(row, "us"));
    if (row.require != Requirement::batch_invariant) continue;
    // With several kernels for one weight a result would depend on M.
    const auto weight = fmt::format("{} {} {}", checked.device, checked.model, weight_group_of(row.problem));
    if (const auto [first, is_new] = kernels.try_emplace(weight, row.kernel_name);
        !is_new && first->second != row.kernel_name) {
      checked.status = CheckStatus::wrong;
      checked.reason = "another row of its weight names another kernel, so it is not batch-invariant";
    }
  }
  return rows;
}

void check_row(CheckedRow& row, Executor& executor, Kernels* kernels, const RowCheckOptions& options) {
  if (row.status != CheckStatus::wrong) row.status = CheckStatus::unusable;
  try {
    const auto candidate = load(row, executor);
    if (candidate && options.run) run(row, *candidate, executor, kernels, options);
  } catch (const Error& error) {
    row.status = CheckStatus::unusable;
    row.reason = error.what();
  }
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
