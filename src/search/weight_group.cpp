// SPDX-License-Identifier: MIT
#include "search/weight_group.h"

#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "base/error.h"
#include "core/candidate.h"

namespace attune {
namespace {

/// A candidate to publish and its speed relative to the baseline of its row.
struct Pick {
  GroupPick published;
  double ratio = 1;
};

/// Returns the candidate that represents a layout in a row; nullopt without one that may be published. Under a
/// requirement a baseline that is not the winner may not: nothing says that it keeps what is required.
std::optional<Pick> pick_of(const Decision& decision, const std::string& layout) {
  if (layout_of(decision.winner) == layout)
    return Pick{{decision.winner, decision.comparison, decision.errors}, decision.comparison.ratio};
  const Finalist *best = nullptr, *baseline = nullptr;
  for (const Finalist& finalist : decision.finalists) {
    if (layout_of(finalist.candidate) != layout || finalist.comparison.us <= 0) continue;
    if (finalist.candidate == decision.baseline) baseline = &finalist;
    if (!finalist.confirmed) continue;
    if (best == nullptr || finalist.comparison.ratio > best->comparison.ratio) best = &finalist;
  }
  if (best != nullptr) return Pick{{best->candidate, best->comparison, best->errors}, best->comparison.ratio};
  if (baseline != nullptr && decision.protocol.require == Requirement::none)
    return Pick{{decision.baseline, {.us = decision.baseline_us}, baseline->errors}, 1};
  return std::nullopt;
}

/// Σ calls·time of a layout over the rows; infinite when a row has no candidate of it that may be published.
double total_us(std::span<const GroupRow> rows, const std::string& layout) {
  double sum = 0;
  for (const GroupRow& row : rows) {
    const auto pick = pick_of(*row.decision, layout);
    if (!pick || !(pick->ratio > 0)) return std::numeric_limits<double>::infinity();
    sum += row.calls * row.decision->baseline_us / pick->ratio;
  }
  return sum;
}

/// Layout of the baselines, if all rows have the same.
std::optional<std::string> default_layout(std::span<const GroupRow> rows) {
  std::string layout = layout_of(rows.front().decision->baseline);
  for (const GroupRow& row : rows) {
    if (layout_of(row.decision->baseline) != layout) return std::nullopt;
  }
  return layout;
}

}  // namespace

std::optional<Candidate> choose_config(std::span<const std::map<Candidate, double>> times_us) {
  if (times_us.empty()) return std::nullopt;
  std::optional<Candidate> best;
  double min = std::numeric_limits<double>::infinity();
  for (const auto& [candidate, first_us] : times_us.front()) {
    double sum = 0;
    for (const auto& times_of_row : times_us) {
      const auto found = times_of_row.find(candidate);
      sum += found == times_of_row.end() ? std::numeric_limits<double>::infinity() : std::log(found->second);
    }
    if (!(sum < min)) continue;
    min = sum;
    best = candidate;
  }
  return best;
}

GroupChoice choose_layout(std::span<const GroupRow> rows, double min_gain) {
  ATTUNE_CHECK(!rows.empty(), "a weight group has at least one row");
  std::set<std::string> layouts;
  for (const GroupRow& row : rows) {
    layouts.insert(layout_of(row.decision->winner));
    for (const Finalist& finalist : row.decision->finalists) layouts.insert(layout_of(finalist.candidate));
  }
  GroupChoice choice;
  double min_total = std::numeric_limits<double>::infinity();
  if (const auto usual = default_layout(rows)) {
    min_total = total_us(rows, *usual) / (1 + min_gain);
    if (min_total < std::numeric_limits<double>::infinity()) choice.layout = *usual;
  }
  for (const std::string& layout : layouts) {
    const double total = total_us(rows, layout);
    if (total >= min_total) continue;
    min_total = total;
    choice.layout = layout;
  }
  for (const GroupRow& row : rows) {
    const std::string layout = choice.layout.empty() ? layout_of(row.decision->winner) : choice.layout;
    choice.picks.push_back(pick_of(*row.decision, layout)->published);
  }
  return choice;
}

Decision published_decision(const Decision& own, const GroupPick& pick) {
  Decision published = own;
  if (pick.candidate == own.winner) return published;
  published.winner = pick.candidate;
  published.comparison = pick.comparison;
  published.errors = pick.errors;
  if (own.has_default()) published.verdict = pick.candidate == own.baseline ? Verdict::baseline : Verdict::faster;
  published.tied.clear();
  if (published.best_default && pick.comparison.us > 0)
    published.best_default->ratio *= own.comparison.us / pick.comparison.us;
  return published;
}

}  // namespace attune
