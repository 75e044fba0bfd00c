// SPDX-License-Identifier: MIT
#include "tables/table_lookup.h"

#include <fmt/format.h>

#include <algorithm>

#include "dispatch/table/lookup_trace.h"
#include "dispatch/table/wanted_requirement.h"
#include "formats/csv/ban_file.h"
#include "ops/packed_weights.h"
#include "tables/runtime_tables.h"

namespace attune {
namespace {

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// Requires: the row is one of the table's.
const TableRow& row_of(const Table& table, const RowIndex::Row& row) {
  const auto place = std::pair<size_t, size_t>(row.file, row.line);
  return *std::lower_bound(table.rows().begin(), table.rows().end(), place,
                           [](const TableRow& one, const auto& at) { return std::pair(one.file, one.line) < at; });
}

/// Returns the group keys of a problem: one, or one for each layout of packed weights that rows name.
std::vector<GroupKey> group_keys(const KeyCodes& codes, const Key& key, const RowIndex& rows, const Problem& problem) {
  if (!has_packed_weights(problem)) return {codes.group_key(key)};
  std::vector<GroupKey> groups;
  for (const std::string& layout : rows.layouts())
    groups.push_back(codes.group_key(key, KeyCodes::layout_code(layout)));
  return groups;
}

}  // namespace

TableSet empty_table_set(Requirement require, double max_regret) {
  TableSet set;
  set.require = require;
  set.max_regret = regret_under(require, max_regret);
  set.bans = bans_of_user(set.notices);
  return set;
}

TableSet read_table_set(std::span<const std::string> named, const std::string& op,
                        std::span<const FamilySpec* const> families, const std::string& require,
                        const DeviceInfo* device) {
  const MaxRegret wanted = max_regret_wanted();
  TableSet set = empty_table_set(require.empty() ? requirement_wanted() : parse_requirement(require), wanted.share);
  for (const std::string& paths : named) {
    set.tables.push_back(Table::read(paths, family_option(op)));
    append(set.notices, set.tables.back().notices());
  }
  if (named.empty()) {
    append(set.notices, table_variable_notices());
    for (const FamilySpec* family : families) {
      RuntimeTables found = read_runtime_tables(*family, device);
      append(set.notices, skipped_notices(found));
      for (size_t i = 0; i < found.sources.files.size(); ++i) {
        const TableSource& source = found.sources.files[i];
        if (found.wrong[i].empty())
          set.files.push_back(fmt::format("{} {}", name(source.origin), source.file.string()));
      }
      if (found.table) {
        append(set.notices, found.table->notices());
        set.tables.push_back(std::move(*found.table));
      }
    }
  }
  if (!wanted.error.empty()) set.notices.push_back(wanted.error);
  return set;
}

TableLookup::TableLookup(const TableSet& set, const DeviceInfo& device)
    : max_regret_(set.max_regret), device_(device.key()) {
  for (const Table& table : set.tables) {
    const KeyCodes codes(table.family(), device.fp8());
    tables_.push_back({table, codes, RowIndex(codes, table.documents(), device, set.require, set.bans)});
  }
}

LookupResult TableLookup::search(const IndexedTable& one, const Problem& problem, const KernelCheck& usable) const {
  const auto& [table, codes, rows] = one;
  const Key key = codes.key(problem);
  const int64_t m = codes.m_of(key), n = codes.n_of(key);
  LookupResult result;
  const auto groups = group_keys(codes, key, rows, problem);
  for (const TracedStep& traced : trace_lookup(rows, m, n, codes.pads_m(), groups, max_regret_)) {
    // The exact step keeps the problem as it is: the family may have no rows.
    const auto match = traced.met.match;
    LookupStep& step = result.steps.emplace_back(
        LookupStep{match, match == Match::exact ? problem : problem.with(table.family().rows, std::to_string(traced.m)),
                   nullptr, traced.met.regret, ""});
    if (traced.met.number == 0) {
      step.remark = "no row";
      continue;
    }
    step.row = &row_of(table, rows.row(traced.met.number));
    if (!traced.is_allowed) {
      step.remark = "the bound is above ATTUNE_MAX_REGRET";
      continue;
    }
    RowKernel kernel = row_kernel(step.row->kernel_name, step.row->layout, [&](const Candidate& candidate) {
      const Ban* ban = rows.bans()->find(candidate.name(), device_, problem.key());
      return ban != nullptr ? "its kernel " + ban_clause(*ban) : usable(candidate);
    });
    step.remark = kernel.why_unservable.value_or("");
    if (kernel.why_unservable) continue;
    result.match = step.match;
    result.table = &table;
    result.row = step.row;
    result.candidate = std::move(kernel.candidate);
    return result;
  }
  return result;
}

LookupResult TableLookup::find(const Problem& problem, const KernelCheck& usable) const {
  LookupResult result;
  for (const IndexedTable& one : tables_) {
    if (one.table.family().op != problem.op()) continue;
    result = search(one, problem, usable);
    if (result.row) break;
  }
  return result;
}

}  // namespace attune
