// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "formats/csv/table.h"
#include "pipeline/device_limits.h"
#include "pipeline/finding.h"
#include "solver/registry.h"
#include "tables/row_status.h"

namespace attune {

/// The rules by which tables are judged.
struct TableRules {
  std::vector<DeviceLimits> devices;    ///< Devices whose rows' times and kernels can be judged.
  const Registry* solvers = nullptr;    ///< Solvers of this build; null: kernels are not judged.
  std::optional<double> max_err_ratio;  ///< Nothing: the family's own.
  std::shared_ptr<const BanList> bans = std::make_shared<const BanList>();  ///< Rows of these kernels are unreachable.
};

/// The time and the place of the row that serves each key, of all rows of a family that pads: 32 bytes a row.
class PaddedRows {
 public:
  struct Row {
    Hash128 key;  ///< Of the problem, the device, the layout and the requirement.
    RowPlace place;
    double us = 0;
  };

  explicit PaddedRows(const FamilySpec& family) : family_(family) {}
  /// Adds a row, if it can serve.
  void add(RowPlace place, const TableRow& row);
  /// After the last row was added.
  void sort();
  /// The row that serves a problem of a row's key and device with `m` rows, of the same layout; null if no row does.
  const Row* find(const TableRow& row, int64_t m) const;

 private:
  Hash128 key_of(const TableRow& row, const Problem& problem) const;

  const FamilySpec& family_;
  std::vector<Row> rows_;
};

/// Rows of the tables of one family, in the order in which the run time takes them. Every check reads them in this
/// form: all rows of each of their keys. The rows' states are for all devices at once. Points into the arguments, which
/// must outlive it.
struct TableInput {
  TableInput(const Table& read, const PaddedRows& all, const TableRules& by)
      : table(read), padded(all), rules(by), states(row_statuses(read, nullptr, Requirement::none, *by.bans)) {}

  const Table& table;
  const PaddedRows& padded;
  const TableRules& rules;
  std::vector<RowReport> states;
};

/// Findings in the order in which they are made.
class FindingList {
 public:
  explicit FindingList(std::span<const CsvDocument> documents) : documents_(documents) {}

  void add(FindingKind kind, const TableRow& row, std::string detail);
  /// For a defect without a readable row: a line of a document.
  void add(FindingKind kind, size_t document, size_t line, std::string detail);
  std::vector<TableFinding> take() { return std::move(findings_); }

 private:
  std::span<const CsvDocument> documents_;
  std::vector<TableFinding> findings_;
};

}  // namespace attune
