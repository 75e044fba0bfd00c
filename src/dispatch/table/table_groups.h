// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "core/device_info.h"
#include "dispatch/table/prediction.h"
#include "formats/csv/table.h"

namespace attune {

/// The rows of a Table that serve one device, by all but their M and by the layout of packed weights: the slow model of
/// RowGroups. The table outlives this.
class TableGroups {
 public:
  /// Predictions with a larger bound than `max_regret` are not allowed; 0: none are made. O(n log n).
  TableGroups(const Table& table, const DeviceInfo& device, double max_regret);

  struct PredictedRow {
    const TableRow* row = nullptr;
    double regret = 0;  ///< Bound.
    bool is_allowed = false;
  };
  /// The one to be tried first at the front, those that are not allowed too. None for a family that does not pad M. For
  /// weights that are packed ahead those of every layout. O(log n).
  std::vector<PredictedRow> predict(const Problem& problem) const;

 private:
  const FamilySpec& family_;
  double max_regret_;
  using Rows = std::map<int64_t, const TableRow*>;
  std::map<std::string, std::map<std::string, Rows>> groups_;  ///< By layout.
};

}  // namespace attune
