// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "attune/requirement.h"

namespace attune {

/// A row of a published table, for people: its content, and whether lookups take it.
struct RowSummary {
  std::string family, place;    ///< The op; `t.csv:17`.
  std::string problem, device;  ///< Keys, spelled as the journal's are.
  std::string kernel;
  Requirement require = Requirement::none;  ///< That the row states.
  std::optional<double> us;                 ///< The time that the row states.
  bool is_taken = false;
  std::string use;  ///< A clause: `is taken`, `is slower than another row of its file: t.csv:3 wins`.
};

/// The rows of some tables, and sentences about what in them cannot be read.
struct RowSummaries {
  std::vector<RowSummary> rows;  ///< In the order in which lookups search the tables.
  std::vector<std::string> notices;
};

}  // namespace attune
