// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attune/match.h"
#include "attune/problem.h"
#include "core/ban.h"
#include "core/candidate.h"
#include "core/device_info.h"
#include "dispatch/table/row_index.h"
#include "formats/csv/table.h"
#include "tables/row_status.h"

namespace attune {

/// The tables that a command searches, and how.
struct TableSet {
  std::vector<Table> tables;
  std::vector<std::string> files;  ///< The run time's tables that were read: `default configs/bf16_tuned_gemm.csv`.
  std::shared_ptr<const BanList> bans = std::make_shared<const BanList>();  ///< What does not serve.
  Requirement require = Requirement::none;  ///< Only rows that state it serve (ATTUNE_REQUIRE).
  double max_regret = 0;                    ///< Largest bound of predicted rows (ATTUNE_MAX_REGRET).
  std::vector<std::string> notices;         ///< Sentences to print: about bans, the tables, and the variable.
};

/// Returns a set without tables: what the user has banned holds in every set, and `max_regret` is limited as the
/// requirement wants it.
TableSet empty_table_set(Requirement require, double max_regret);

/// Reads the `named` tables (`F:F2` each, of the family `op` unless it is empty), else the run time's tables of
/// `families`; what the user has banned holds for both. `require`: as parse_requirement() reads it; empty: that of
/// ATTUNE_REQUIRE. `device`: as for table_sources(). Throws invalid_input for an invalid table among `named`, and for
/// an invalid requirement; an invalid table of the run time's is skipped, with a notice.
TableSet read_table_set(std::span<const std::string> named, const std::string& op,
                        std::span<const FamilySpec* const> families, const std::string& require = "",
                        const DeviceInfo* device = nullptr);

/// One step of a lookup: a key that is looked up, or a predicted row.
struct LookupStep {
  Match match = Match::fallback;
  Problem key;
  const TableRow* row = nullptr;
  double regret_bound = 0;  ///< Bound on the regret of a predicted row.
  std::string remark;       ///< Why no row serves in this step; empty if one does.
};

struct LookupResult {
  Match match = Match::fallback;
  const Table* table = nullptr;   ///< Null for fallback.
  const TableRow* row = nullptr;  ///< Null for fallback.
  std::optional<Candidate> candidate;
  std::vector<LookupStep> steps;  ///< Up to the row that serves; in the last table searched.
};

/// Looks up shapes of all families in tables, with the index and the steps of the run time. The set and the device must
/// outlive this.
class TableLookup {
 public:
  TableLookup(const TableSet& set, const DeviceInfo& device);

  /// Returns the match in the first table of the problem's op with a row that serves it, as row_kernel() with `usable`
  /// decides. Requires: the problem is normalised.
  LookupResult find(const Problem& problem, const KernelCheck& usable) const;

 private:
  struct IndexedTable {
    const Table& table;
    KeyCodes codes;
    RowIndex rows;
  };
  LookupResult search(const IndexedTable& one, const Problem& problem, const KernelCheck& usable) const;

  std::vector<IndexedTable> tables_;
  double max_regret_;
  std::string device_;  ///< DeviceInfo::key().
};

}  // namespace attune
