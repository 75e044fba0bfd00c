// SPDX-License-Identifier: MIT
#include "dispatch/table/table_groups.h"

#include <algorithm>

#include "base/text.h"
#include "formats/csv/key_cells.h"
#include "ops/extent.h"
#include "search/weight_group.h"

namespace attune {
namespace {

std::string group_of(const FamilySpec& family, const Problem& problem) {
  return key_text(family, problem.with("m", "0"));
}

std::string layout_of(const TableRow& row) { return row.layout.empty() ? "plain" : row.layout; }

/// Whether lookups of the row's key and layout find this row.
bool is_taken(const Table& table, const TableRow& row, const DeviceInfo& device) {
  const TableRow* best = nullptr;
  for (const TableRow* one : table.all(row.problem, device.gfx, device.num_units)) {
    if (best != nullptr && best->file != one->file) break;
    if (!one->us || !one->tag.empty() || layout_of(*one) != layout_of(row)) continue;
    if (!device.model.empty() && !one->device.empty() && one->device != device.model) continue;
    if (best == nullptr || *one->us < *best->us) best = one;
  }
  return best == &row;
}

Neighbour neighbour(const TableRow* row) {
  return row == nullptr ? Neighbour() : Neighbour{row->problem.integer("m"), static_cast<float>(*row->us)};
}

}  // namespace

TableGroups::TableGroups(const Table& table, const DeviceInfo& device, double max_regret)
    : family_(table.family()), max_regret_(max_regret) {
  if (!family_.pads_m || max_regret_ <= 0) return;
  for (const TableRow& row : table.rows()) {
    const auto m = parse_int(row.problem.text("m"));
    if (!m || *m < 1 || *m > kMaxExtent || !is_taken(table, row, device)) continue;
    groups_[group_of(family_, row.problem)][layout_of(row)].emplace(*m, &row);
  }
}

std::vector<TableGroups::PredictedRow> TableGroups::predict(const Problem& problem) const {
  if (groups_.empty()) return {};
  const auto group = groups_.find(group_of(family_, problem));
  if (group == groups_.end()) return {};
  const int64_t m = problem.integer("m");
  std::vector<PredictedRow> first, second;
  for (const auto& [layout, rows] : group->second) {
    if (layout != "plain" && !has_packed_weights(problem)) continue;
    const auto at = rows.lower_bound(m), next = rows.upper_bound(m);
    const TableRow* below = at == rows.begin() ? nullptr : std::prev(at)->second;
    const TableRow* above = next == rows.end() ? nullptr : next->second;
    const NextRows near = NextRows::of(m, neighbour(below), neighbour(above));
    PredictedRow one{above, near.above_regret, near.above_regret <= max_regret_},
        other{below, near.below_regret, near.below_regret <= max_regret_};
    if (!near.above_first) std::swap(one, other);
    if (one.row == nullptr) std::swap(one, other);
    first.push_back(one);
    second.push_back(other);
  }
  // In a lookup's order: the first choice of each layout comes before any second choice.
  const auto by_regret = [](const PredictedRow& a, const PredictedRow& b) { return a.regret < b.regret; };
  std::stable_sort(first.begin(), first.end(), by_regret);
  std::stable_sort(second.begin(), second.end(), by_regret);
  first.insert(first.end(), second.begin(), second.end());
  std::erase_if(first, [](const PredictedRow& found) { return found.row == nullptr; });
  return first;
}

}  // namespace attune
