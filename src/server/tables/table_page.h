// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/row_summary.h"
#include "server/journal/newest_results.h"

namespace attune {

/// How a row compares with the newest decision on its problem and device under its requirement. same: it names the
/// winner; other: it names another kernel; undecided: there is no decision; unpublished: a decision without a row that
/// is taken.
enum class RowAgreement : uint8_t { same, other, undecided, unpublished };
inline constexpr size_t kNumRowAgreements = 4;
std::string_view name(RowAgreement agreement) noexcept;
/// Returns nothing for another text than a name.
std::optional<RowAgreement> parse_row_agreement(std::string_view name);

/// A row beside the newest decision; one of them may be missing.
struct TableLine {
  std::optional<RowSummary> row;
  std::optional<ResultRow> decision;
  RowAgreement agreement = RowAgreement::undecided;
};

/// Which lines.
struct TableQuery {
  std::string text;  ///< In the problem, a kernel, the device or the file, without regard to case.
  std::optional<RowAgreement> agreement;
  size_t after = 0;  ///< Lines to skip.
  size_t limit = 100;
};

struct TablePage {
  std::vector<TableLine> lines;
  size_t num_found = 0;                               ///< Of all pages.
  std::array<size_t, kNumRowAgreements> counts = {};  ///< Of all lines, by RowAgreement.
};

/// The lines of a query: the rows in their order, then the decisions without a row, the newest first. Takes some 50 ms
/// for 100,000 results and 40,000 rows.
TablePage table_page(const RowSummaries& rows, const NewestResults& newest, const TableQuery& query);

}  // namespace attune
