// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/csv/table.h"
#include "pipeline/device_limits.h"
#include "pipeline/finding.h"
#include "solver/registry.h"
#include "tables/row_status.h"

namespace attune {

/// By what rules tables are judged.
struct TableRules {
  std::vector<DeviceLimits> devices;    ///< Those whose rows' times and kernels can be judged.
  const Registry* solvers = nullptr;    ///< Solvers of this build; null: kernels are not judged.
  std::optional<double> max_err_ratio;  ///< Nothing: that of the family.
  std::shared_ptr<const BanList> bans = std::make_shared<const BanList>();  ///< Rows of these kernels are unreachable.
};

/// The tables of one family, in the order in which the run time takes them, as every check reads them. The rows' states
/// are those for all devices at once. Points into the table and the rules, which must outlive it.
struct TableInput {
  TableInput(const Table& read, const TableRules& by)
      : table(read), rules(by), states(row_statuses(read, nullptr, Requirement::none, *by.bans)) {}

  const Table& table;
  const TableRules& rules;
  std::vector<RowReport> states;
};

/// Findings in the order in which they are made.
class FindingList {
 public:
  explicit FindingList(const Table& table) : table_(table) {}

  void add(FindingKind kind, const TableRow& row, std::string detail);
  /// For what has no readable row: a line of a document.
  void add(FindingKind kind, size_t document, size_t line, std::string detail);
  std::vector<TableFinding> take() { return std::move(findings_); }

 private:
  const Table& table_;
  std::vector<TableFinding> findings_;
};

}  // namespace attune
