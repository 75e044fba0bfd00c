// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "core/ban.h"
#include "core/device_info.h"
#include "formats/csv/table.h"
#include "tables/table_lookup.h"

namespace attune {

/// A row of a key that a lookup looked up, which was not tried.
struct PassedRow {
  const TableRow* row = nullptr;
  std::string why;  ///< A clause, such as `has no usable time: column 'us' …`.
};

/// Returns the rows of the device whose key is that of one of the steps and that no step tried, in the order of the
/// steps. `table`: the one that the steps searched, which must outlive the result. `usable`: as given to the lookup;
/// `bans`: those of its set. O(rows · log rows).
std::vector<PassedRow> passed_rows(const Table& table, const LookupResult& lookup, const DeviceInfo& device,
                                   Requirement required, const KernelCheck& usable, const BanList& bans = {});

}  // namespace attune
