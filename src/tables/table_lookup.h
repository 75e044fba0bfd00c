// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <vector>

#include "core/device_info.h"
#include "dispatch/table/lookup.h"
#include "dispatch/table/table_groups.h"
#include "formats/csv/table.h"

namespace attune {

/// Shapes of all families looked up in tables as the run time does it. The tables outlive this.
class TableLookup {
 public:
  /// With predictions up to the bound of the environment (ATTUNE_MAX_REGRET, of which a wrong value is said).
  TableLookup(std::span<const Table> tables, const DeviceInfo& device);

  struct TableMatch {
    const Table* table = nullptr;
    LookupResult result;  ///< fallback: no row.
  };
  /// In the first table of the problem's op that has a row for it.
  TableMatch find(const Problem& problem, const RowCheck& usable) const;

 private:
  std::span<const Table> tables_;
  const DeviceInfo& device_;
  std::vector<TableGroups> groups_;  ///< Of each table.
};

}  // namespace attune
