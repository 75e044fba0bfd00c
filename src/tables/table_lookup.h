// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/device_info.h"
#include "dispatch/table/lookup.h"
#include "dispatch/table/table_groups.h"
#include "formats/csv/table.h"

namespace attune {

/// The tables that a verb searches, and how.
struct TableSet {
  std::vector<Table> tables;
  double max_regret = 0;             ///< Largest bound of predicted rows (ATTUNE_MAX_REGRET).
  std::vector<std::string> notices;  ///< Sentences to print: about the tables, then about the variable.
};

/// Reads the `named` tables (`F:F2` each, of the family `op` unless it is empty), else the run time's tables of
/// `families`. Throws invalid_input for a wrong table among `named`; a wrong one of the run time's is left out, with a
/// notice.
TableSet read_table_set(std::span<const std::string> named, const std::string& op,
                        std::span<const FamilySpec* const> families);

/// Looks up shapes of all families in tables like the run time. The set and the device must outlive this.
class TableLookup {
 public:
  TableLookup(const TableSet& set, const DeviceInfo& device);

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
