// SPDX-License-Identifier: MIT
#include "tables/table_lookup.h"

#include "tables/runtime_tables.h"

namespace attune {
namespace {

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

TableSet read_table_set(std::span<const std::string> named, const std::string& op,
                        std::span<const FamilySpec* const> families) {
  TableSet set;
  for (const std::string& paths : named) {
    set.tables.push_back(Table::read(paths, family_option(op)));
    append(set.notices, set.tables.back().notices());
  }
  if (named.empty()) {
    for (const FamilySpec* family : families) {
      RuntimeTables found = read_runtime_tables(*family);
      append(set.notices, left_out_notices(found));
      if (found.table) set.tables.push_back(std::move(*found.table));
    }
  }
  const MaxRegret wanted = max_regret_wanted();
  set.max_regret = wanted.share;
  if (!wanted.complaint.empty()) set.notices.push_back(wanted.complaint);
  return set;
}

TableLookup::TableLookup(const TableSet& set, const DeviceInfo& device) : tables_(set.tables), device_(device) {
  for (const Table& table : tables_) groups_.emplace_back(table, device_, set.max_regret);
}

TableLookup::TableMatch TableLookup::find(const Problem& problem, const RowCheck& usable) const {
  for (size_t i = 0; i < tables_.size(); ++i) {
    if (tables_[i].family().op != problem.op()) continue;
    LookupResult result = look_up(tables_[i], problem, device_, usable, &groups_[i]);
    if (result.row) return {&tables_[i], std::move(result)};
  }
  return {};
}

}  // namespace attune
