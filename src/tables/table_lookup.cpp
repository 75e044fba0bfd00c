// SPDX-License-Identifier: MIT
#include "tables/table_lookup.h"

#include "tables/runtime_tables.h"

namespace attune {

TableLookup::TableLookup(std::span<const Table> tables, const DeviceInfo& device) : tables_(tables), device_(device) {
  const double allowed = max_regret();
  for (const Table& table : tables_) groups_.emplace_back(table, device_, allowed);
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
