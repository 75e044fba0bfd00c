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
      auto& of_key = groups_[group_of(row.problem)][layout_of(row)][m_of(row.problem)];
      if (of_key.empty()) of_key = rows_of_key(row);
    }
    for (auto& [group, layouts] : groups_) {
      for (auto& [layout, rows] : layouts) std::erase_if(rows, [](const auto& entry) { return entry.second.empty(); });
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
        if (at != rows.end() && is_readable(layout, problem)) of_step.push_back({step.match, at->second.front()});
      }
      std::stable_sort(of_step.begin(), of_step.end(),
                       [](const Row& a, const Row& b) { return us_of(*a.row) < us_of(*b.row); });
      for (const Row& one : of_step) add_with_alternates(one, found);
    }
    if (pads && max_regret_ > 0 && m_of(problem) > 0) add_predictions(problem, group->second, found);
    return found;
  }

 private:
  using Rows = std::map<int64_t, std::vector<const TableRow*>>;  ///< By M; the winner and its alternates.

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

  /// The rows of a row's key and layout that may serve, best first, each kernel once.
  std::vector<const TableRow*> rows_of_key(const TableRow& row) const {
    std::vector<const TableRow*> rows;
    for (const TableRow* one : table_.all(row.problem, device_.gfx, device_.num_units)) {
      if (!one->us || !one->tag.empty() || layout_of(*one) != layout_of(row) || one->require < required_) continue;
      if (!device_.model.empty() && !one->device.empty() && one->device != device_.model) continue;
      rows.push_back(one);
    }
    std::stable_sort(rows.begin(), rows.end(), [&](const TableRow* a, const TableRow* b) { return is_better(*a, *b); });
    std::vector<const TableRow*> unique;
    for (const TableRow* one : rows) {
      if (std::none_of(unique.begin(), unique.end(),
                       [&](const TableRow* other) { return other->kernel_name == one->kernel_name; }))
        unique.push_back(one);
    }
    return unique;
  }

  void add_with_alternates(const Row& one, std::vector<Row>& found) const {
    found.push_back(one);
    const auto& rows = groups_.at(group_of(one.row->problem)).at(layout_of(*one.row)).at(m_of(one.row->problem));
    for (size_t i = 1; i < rows.size(); ++i) {
      const float regret = (1 + static_cast<float>(one.regret)) * us_of(*rows[i]) / us_of(*one.row) - 1;
      if (one.match != Match::predicted)
        found.push_back({one.match, rows[i]});
      else if (regret <= static_cast<float>(max_regret_))
        found.push_back({one.match, rows[i], regret});
    }
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
      const TableRow* smaller = below == rows.rend() ? nullptr : below->second.front();
      const TableRow* larger = above == rows.end() ? nullptr : above->second.front();
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
      for (const Row& one : *rank) add_with_alternates(one, found);
    }
  }

  const Table& table_;
  const DeviceInfo& device_;
  double max_regret_;
  Requirement required_;
  std::map<std::string, std::map<std::string, Rows>> groups_;  ///< By key without M, then layout.
};

}  // namespace attune
