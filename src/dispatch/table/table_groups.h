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

/// The rows of a Table that serve one device, grouped by their key without M and by the layout of packed weights: the
/// slow model of RowGroups. The table must outlive this.
class TableGroups {
 public:
  /// Predictions with a bound larger than `max_regret` are not allowed; 0: no predictions. O(n log n).
  TableGroups(const Table& table, const DeviceInfo& device, double max_regret);

  struct PredictedRow {
    const TableRow* row = nullptr;
    double regret = 0;  ///< Bound on the regret.
    bool is_allowed = false;
  };
  /// Returns predicted rows in the order to try them, including those that are not allowed. Returns none for a family
  /// that does not pad M. For packed weights it returns rows of every layout. O(log n).
  std::vector<PredictedRow> predict(const Problem& problem) const;

 private:
  const FamilySpec& family_;
  double max_regret_;
  using Rows = std::map<int64_t, const TableRow*>;
  std::map<std::string, std::map<std::string, Rows>> groups_;  ///< By group, then layout.
};

}  // namespace attune
