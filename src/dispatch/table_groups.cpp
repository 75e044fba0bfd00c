// SPDX-License-Identifier: MIT
#include "dispatch/table_groups.h"

#include <algorithm>

#include "base/text.h"
#include "formats/csv/key_cells.h"
#include "ops/extent.h"

namespace attune {
namespace {

std::string group_of(const FamilySpec& family, const Problem& problem) {
  return key_text(family, problem.with("m", "0"));
}

}  // namespace

TableGroups::TableGroups(const Table& table, const DeviceInfo& device, double most_regret)
    : family_(table.family()), most_regret_(most_regret) {
  if (!family_.pads_m || most_regret_ <= 0) return;
  for (const TableRow& row : table.rows()) {
    if (!row.us || (!row.layout.empty() && row.layout != "plain")) continue;
    const auto m = parse_int(row.problem.text("m"));
    if (!m || *m < 1 || *m > kMaxExtent) continue;
    if (table.find(row.problem, device.gfx, device.num_units, device.model) != &row) continue;
    groups_[group_of(family_, row.problem)].emplace(*m, &row);
  }
}

std::vector<TableGroups::Predicted> TableGroups::predict(const Problem& problem) const {
  if (groups_.empty()) return {};
  const auto group = groups_.find(group_of(family_, problem));
  if (group == groups_.end()) return {};
  const int64_t m = problem.integer("m");
  const auto& rows = group->second;
  const auto at = rows.lower_bound(m), next = rows.upper_bound(m);
  const TableRow* below = at == rows.begin() ? nullptr : std::prev(at)->second;
  const TableRow* above = next == rows.end() ? nullptr : next->second;
  const auto neighbour = [](const TableRow* row) {
    return row == nullptr ? Neighbour() : Neighbour{row->problem.integer("m"), static_cast<float>(*row->us)};
  };
  const NextRows next_rows = NextRows::of(m, neighbour(below), neighbour(above));
  std::vector<Predicted> found = {{above, next_rows.above_regret, next_rows.above_regret <= most_regret_},
                                  {below, next_rows.below_regret, next_rows.below_regret <= most_regret_}};
  if (!next_rows.above_first) std::swap(found[0], found[1]);
  std::erase_if(found, [](const Predicted& one) { return one.row == nullptr; });
  return found;
}

}  // namespace attune
