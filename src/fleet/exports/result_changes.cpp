// SPDX-License-Identifier: MIT
#include "fleet/exports/result_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "formats/csv/table_diff.h"
#include "formats/find_db/find_db_diff.h"
#include "ops/family.h"

namespace attune {
namespace {

using ChangeKind = ResultChange::Kind;

std::string timed(const std::string& name, double time, std::string_view unit) {
  if (time <= 0) return name;
  return fmt::format("{}{}{:.6g} {}", name, name.empty() ? "" : " ", time, unit);
}

/// Compares texts by key.
ResultChanges compare_texts(const std::map<std::string, std::string>& before,
                            const std::map<std::string, std::string>& after, const WhyMissing& why_missing) {
  ResultChanges found;
  for (const auto& [key, text] : before) {
    const auto other = after.find(key);
    if (other == after.end())
      found.changes.push_back({ChangeKind::missing, key, why_missing(key), {}});
    else if (other->second == text)
      ++found.num_same;
    else
      found.changes.push_back({ChangeKind::changed, key, fmt::format("{} → {}", text, other->second), {}});
  }
  for (const auto& [key, text] : after) {
    if (!before.contains(key)) found.changes.push_back({ChangeKind::added, key, text, {}});
  }
  found.sort();
  return found;
}

/// Parameters by `key solver`.
std::map<std::string, std::string> rows_by_key(const PerfDb& db) {
  std::map<int64_t, std::string> keys;
  for (const PerfDbConfig& config : db.configs) keys.emplace(config.id, perf_db_key(config));
  std::map<std::string, std::string> rows;
  for (const PerfDbRow& row : db.rows) {
    const auto key = keys.find(row.config);
    if (key != keys.end()) rows.emplace(key->second + " " + row.solver, row.params);
  }
  return rows;
}

std::map<std::string, std::string> kernels_by_name(const KernelDb& db) {
  std::map<std::string, std::string> kernels;
  for (const KernelDbRow& row : db.kernels)
    kernels.emplace(std::string(trim(row.name + " " + row.args)), "MD5 " + row.hash);
  return kernels;
}

std::string solver_of(const FindDbEntry* entry) { return entry == nullptr ? "none" : std::string(entry->solver); }
double time_of(const FindDbEntry* entry) {
  return entry != nullptr && has_usable_time(*entry) ? parse_double(entry->time_ms).value_or(0) : 0;
}

/// Empty: both rows name the same.
std::string kernel_of(const RowChange& row, bool is_after) {
  for (const ChangedCell& cell : row.cells) {
    if (cell.column == "kernelName") return is_after ? cell.after : cell.before;
  }
  return {};
}

}  // namespace

size_t ResultChanges::count(ResultChange::Kind kind) const noexcept {
  return static_cast<size_t>(std::ranges::count(changes, kind, &ResultChange::kind));
}

void ResultChanges::compare(std::string key, const std::string& before, double old_time, const std::string& after,
                            double new_time, std::string_view unit) {
  const auto ratio = old_time > 0 && new_time > 0 ? std::optional(old_time / new_time) : std::nullopt;
  const double limit = 1 + kChangePct / 100;
  const bool is_faster = ratio && *ratio > limit, is_slower = ratio && *ratio < 1 / limit;
  if (before == after && !is_faster && !is_slower) {
    ++num_same;
    return;
  }
  changes.push_back({is_faster   ? ChangeKind::faster
                     : is_slower ? ChangeKind::slower
                                 : ChangeKind::changed,
                     std::move(key), timed(before, old_time, unit) + " → " + timed(after, new_time, unit), ratio});
}

void ResultChanges::sort() { std::ranges::stable_sort(changes, {}, &ResultChange::kind); }

std::string ResultChanges::summary() const {
  std::vector<std::string> parts;
  for (size_t i = 0; i < kResultChangeNames.size(); ++i) {
    if (const size_t num = count(static_cast<ChangeKind>(i)); num > 0)
      parts.push_back(fmt::format("{} {}", num, kResultChangeNames[i]));
  }
  parts.push_back(fmt::format("{} the same", num_same));
  return join(parts, ", ");
}

ResultChanges changes_of(const FindDb& before, const FindDb& after, const WhyMissing& why_missing) {
  const FindDbDiff found = diff(before, after);
  ResultChanges changes{.changes = {}, .num_same = found.num_same};
  for (const FindDbChange& one : found.removed)
    changes.changes.push_back({ChangeKind::missing, std::string(one.key()), why_missing(std::string(one.key())), {}});
  for (const FindDbChange& one : found.added)
    changes.changes.push_back(
        {ChangeKind::added, std::string(one.key()), timed(solver_of(one.new_best), time_of(one.new_best), "ms"), {}});
  for (const FindDbChange& one : found.changed)
    changes.compare(std::string(one.key()), solver_of(one.old_best), time_of(one.old_best), solver_of(one.new_best),
                    time_of(one.new_best), "ms");
  changes.sort();
  return changes;
}

ResultChanges changes_of(const PerfDb& before, const PerfDb& after, const WhyMissing& why_missing) {
  return compare_texts(rows_by_key(before), rows_by_key(after),
                       [&](const std::string& key) { return why_missing(key.substr(0, key.find(' '))); });
}

ResultChanges changes_of(const KernelDb& before, const KernelDb& after) {
  return compare_texts(kernels_by_name(before), kernels_by_name(after),
                       [](const std::string&) { return "no result uses it"; });
}

ResultChanges changes_of(const CsvDocument& before, const CsvDocument& after) {
  const FamilySpec* const family = find_family("conv");
  const TableDiff found = diff(TableStream({before}, family), TableStream({after}, family));
  ResultChanges changes{.changes = {}, .num_same = found.num_same};
  for (const RowChange& row : found.removed)
    changes.changes.push_back({ChangeKind::missing, row.problem.key(), "its row was replaced", {}});
  for (const RowChange& row : found.added)
    changes.changes.push_back({ChangeKind::added, row.problem.key(), timed("", row.new_us.value_or(0), "µs"), {}});
  for (const RowChange& row : found.changed)
    changes.compare(row.problem.key(), kernel_of(row, false), row.old_us.value_or(0), kernel_of(row, true),
                    row.new_us.value_or(0), "µs");
  changes.sort();
  return changes;
}

}  // namespace attune
