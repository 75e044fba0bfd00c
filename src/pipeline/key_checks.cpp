// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <map>

#include "ops/extent.h"
#include "pipeline/checks.h"

namespace attune {
namespace {

/// The first row of each file with a key, for the others with it.
class FirstRows {
 public:
  explicit FirstRows(const Table& table) : table_(table) {}
  /// Null for the first.
  const TableRow* before(const TableRow& row) {
    if (!row.tag.empty()) return nullptr;
    const auto [found, is_new] =
        first_.try_emplace(fmt::format("{} {} {}", row.file, row.device, contested_key(table_, row)), &row);
    return is_new ? nullptr : found->second;
  }

 private:
  const Table& table_;
  std::map<std::string, const TableRow*> first_;
};

/// Why no problem can have a row's key; nothing if one can.
std::optional<std::string> why_no_problem(const FamilySpec& family, const TableRow& row) {
  for (const AttributeSpec& key : family.key) {
    if (key.kind != ColumnKind::integer || !row.problem.has(key.name)) continue;
    const int64_t size = row.problem.integer(key.name);
    if (!key.contains(size)) return fmt::format("no problem has the size {} = {}", key.column, size);
  }
  // The table is not at fault if this build cannot compute a foreign device's types, but it is if the key is no
  // problem.
  return std::nullopt;
}

}  // namespace

void check_duplicates(const TableInput& input, FindingList& findings) {
  FirstRows first(input.table);
  for (const TableRow& row : input.table.rows()) {
    if (const TableRow* other = first.before(row))
      findings.add(FindingKind::duplicate_key, row, fmt::format("{} has the same key", place_of(input.table, *other)));
  }
}

void check_reach(const TableInput& input, FindingList& findings) {
  FirstRows first(input.table);
  for (const RowReport& report : input.states) {
    const TableRow& row = *report.row;
    const bool is_duplicate = first.before(row) != nullptr;
    if (row.gfx.empty()) {
      findings.add(
          FindingKind::unreachable, row,
          fmt::format("it names no device: column 'gfx' is missing or empty, and cu_num {} names none", row.num_units));
      continue;
    }
    if (const auto why = why_no_problem(input.table.family(), row)) {
      findings.add(FindingKind::unreachable, row, *why);
      continue;
    }
    if (report.status == RowStatus::taken || report.status == RowStatus::without_time) continue;
    // Of two rows with one key the later one is the finding, whichever wins.
    if (report.status == RowStatus::slower && (is_duplicate || report.by->device == row.device)) continue;
    const std::string detail = detail_of(input.table, report);
    findings.add(FindingKind::unreachable, row,
                 fmt::format("{}{}{}", name(report.status), detail.empty() ? "" : ": ", detail));
  }
}

}  // namespace attune
