// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/candidate.h"
#include "core/device_info.h"
#include "dispatch/table/lookup_steps.h"
#include "dispatch/table/prediction.h"
#include "formats/csv/key_cells.h"
#include "formats/csv/table.h"
#include "ops/extent.h"
#include "ops/packed_weights.h"
#include "search/weight_group.h"

/// The slow model of a lookup: what visit_rows() finds in a RowIndex, from the rows of a Table and their texts.
namespace attune {

class SlowLookup {
 public:
  struct Row {
    Match match = Match::exact;
    const TableRow* row = nullptr;
    double regret = 0;  ///< Bound on the regret of a predicted row.
  };

  /// The table must outlive this. `max_regret`: 0: no predictions.
  SlowLookup(const Table& table, const DeviceInfo& device, double max_regret, Requirement required = Requirement::none)
      : table_(table), device_(device), max_regret_(max_regret), required_(required) {
    for (const TableRow& row : table.rows()) {
      if (is_taken(row)) groups_[group_of(row.problem)][layout_of(row)].emplace(m_of(row.problem), &row);
    }
  }

  /// Returns the rows that match, in the order in which they are tried.
  std::vector<Row> find(const Problem& problem) const {
    std::vector<Row> found;
    const auto group = groups_.find(group_of(problem));
    if (group == groups_.end()) return found;
    const bool pads = table_.family().pads_rows;
    for (const auto& step : LookupSteps(pads ? &table_.family().padding : nullptr, m_of(problem), n_of(problem))) {
      std::vector<Row> of_step;
      for (const auto& [layout, rows] : group->second) {
        const auto at = rows.find(step.m);
        if (at != rows.end() && is_readable(layout, problem)) of_step.push_back({step.match, at->second});
      }
      std::stable_sort(of_step.begin(), of_step.end(),
                       [](const Row& a, const Row& b) { return us_of(*a.row) < us_of(*b.row); });
      found.insert(found.end(), of_step.begin(), of_step.end());
    }
    if (pads && max_regret_ > 0 && m_of(problem) > 0) add_predictions(problem, group->second, found);
    return found;
  }

 private:
  using Rows = std::map<int64_t, const TableRow*>;

  static std::string layout_of(const TableRow& row) { return std::string(layout_in_cell(row.layout)); }
  int64_t m_of(const Problem& problem) const { return size_of(problem, table_.family().rows); }
  int64_t n_of(const Problem& problem) const { return size_of(problem, table_.family().columns); }
  static int64_t size_of(const Problem& problem, std::string_view attribute) {
    return attribute.empty() ? 0 : problem.integer(attribute);
  }
  static float us_of(const TableRow& row) { return static_cast<float>(*row.us); }
  static bool is_readable(const std::string& layout, const Problem& problem) {
    return layout == kPlainLayout || has_packed_weights(problem);
  }
  std::string group_of(const Problem& problem) const {
    return key_text(table_.family(), table_.family().rows.empty() ? problem : problem.with(table_.family().rows, "0"));
  }

  /// Whether the row wins its key and layout.
  bool is_taken(const TableRow& row) const {
    const TableRow* best = nullptr;
    for (const TableRow* one : table_.all(row.problem, device_.gfx, device_.num_units)) {
      if (!one->us || !one->tag.empty() || layout_of(*one) != layout_of(row) || one->require < required_) continue;
      if (!device_.model.empty() && !one->device.empty() && one->device != device_.model) continue;
      if (best == nullptr || is_better(*one, *best)) best = one;
    }
    return best == &row;
  }

  bool is_better(const TableRow& one, const TableRow& other) const {
    const auto is_spare = [&](const TableRow& row) {
      return required_ == Requirement::none && row.require != Requirement::none;
    };
    if (is_spare(one) != is_spare(other)) return is_spare(other);
    return one.file != other.file ? one.file < other.file : us_of(one) < us_of(other);
  }

  Neighbour neighbour(const TableRow* row) const {
    return row == nullptr ? Neighbour() : Neighbour{m_of(row->problem), us_of(*row)};
  }

  void add_predictions(const Problem& problem, const std::map<std::string, Rows>& layouts,
                       std::vector<Row>& found) const {
    const int64_t m = m_of(problem);
    std::vector<Row> first, second;  // The first choice of each layout comes before any second choice.
    for (const auto& [layout, rows] : layouts) {
      if (!is_readable(layout, problem)) continue;
      const auto usable = [](const auto& entry) { return entry.first >= 1 && entry.first <= kMaxExtent; };
      auto above = rows.upper_bound(m);
      auto below = std::make_reverse_iterator(rows.lower_bound(m));
      below = std::find_if(below, rows.rend(), usable);
      above = std::find_if(above, rows.end(), usable);
      const TableRow* smaller = below == rows.rend() ? nullptr : below->second;
      const TableRow* larger = above == rows.end() ? nullptr : above->second;
      const NextRows next = NextRows::of(m, neighbour(smaller), neighbour(larger));
      std::vector<Row> both = {{Match::predicted, smaller, next.below_regret},
                               {Match::predicted, larger, next.above_regret}};
      if (next.above_first) std::swap(both[0], both[1]);
      std::erase_if(both, [&](const Row& one) { return one.row == nullptr || one.regret > max_regret_; });
      if (!both.empty()) first.push_back(both[0]);
      if (both.size() > 1) second.push_back(both[1]);
    }
    for (std::vector<Row>* rank : {&first, &second}) {
      std::stable_sort(rank->begin(), rank->end(), [](const Row& a, const Row& b) { return a.regret < b.regret; });
      found.insert(found.end(), rank->begin(), rank->end());
    }
  }

  const Table& table_;
  const DeviceInfo& device_;
  double max_regret_;
  Requirement required_;
  std::map<std::string, std::map<std::string, Rows>> groups_;  ///< By key without M, then layout.
};

}  // namespace attune
