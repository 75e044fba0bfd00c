// SPDX-License-Identifier: MIT
#include "tables/near_rows.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "formats/csv/key_cells.h"

namespace attune {
namespace {

/// Returns the distance of a row from the problem: below 1000 by the ratio of M, above by the number of other
/// differences; nothing for a row that is not near, or that is the problem's own.
std::optional<double> distance(const FamilySpec& family, const TableRow& row, const Problem& problem) {
  constexpr double kOtherThanRows = 1000;
  size_t others = 0;
  bool same_rows = true;
  for (const AttributeSpec& key : family.key) {
    if (key_value(row.problem, key) == key_value(problem, key)) continue;
    if (key.name == family.rows)
      same_rows = false;
    else if (key.kind == ColumnKind::integer)
      return std::nullopt;  // Another size is another layer.
    else
      ++others;
  }
  if (same_rows == (others == 0)) return std::nullopt;
  if (same_rows) return kOtherThanRows + static_cast<double>(others);
  const auto rows = parse_double(row.problem.text(family.rows));
  return rows && *rows > 0 ? std::abs(std::log(*rows / static_cast<double>(problem.integer(family.rows))))
                           : std::optional<double>();
}

}  // namespace

std::vector<const TableRow*> near_rows(const Table& table, const Problem& problem, const DeviceInfo& device,
                                       size_t max_count) {
  if (table.family().rows.empty() || problem.op() != table.family().op) return {};
  std::vector<std::pair<double, const TableRow*>> found;
  for (const TableRow& row : table.rows()) {
    if (row.gfx != device.gfx || row.num_units != device.num_units) continue;
    if (const auto far = distance(table.family(), row, problem)) found.emplace_back(*far, &row);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  found.resize(std::min(found.size(), max_count));
  std::vector<const TableRow*> rows;
  for (const auto& [far, row] : found) rows.push_back(row);
  return rows;
}

}  // namespace attune
