// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <vector>

#include "core/device_info.h"
#include "dispatch/table/lookup.h"
#include "dispatch/table/table_groups.h"
#include "formats/csv/table.h"

namespace attune {

/// Looks up shapes of all families in tables like the run time. The tables must outlive this.
class TableLookup {
 public:
  /// Uses predictions up to the bound in ATTUNE_MAX_REGRET; reports an invalid value.
  TableLookup(std::span<const Table> tables, const DeviceInfo& device);

  struct TableMatch {
    const Table* table = nullptr;
    LookupResult result;  ///< fallback: no row.
  };
  /// Returns the match in the first table of the problem's op that has a row for it.
  TableMatch find(const Problem& problem, const RowCheck& usable) const;

 private:
  std::span<const Table> tables_;
  const DeviceInfo& device_;
  std::vector<TableGroups> groups_;  ///< One for each table.
};

}  // namespace attune
