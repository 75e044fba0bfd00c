// SPDX-License-Identifier: MIT
#include "tuner/history/neighbours.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

struct Features {
  std::string group;  ///< Op and attributes with their values, but `#` for sizes.
  std::vector<double> log_sizes;
};

Features features_of(const Problem& problem) {
  Features features{std::string(problem.op()), {}};
  for (const auto& [name, value] : problem.attributes()) {
    const auto size = parse_int(value);
    const bool is_size = size && *size > 0;
    features.group += fmt::format(" {}={}", name, is_size ? "#" : value);
    if (is_size) features.log_sizes.push_back(std::log(static_cast<double>(*size)));
  }
  return features;
}

}  // namespace

void NeighbourIndex::refresh(const Journal& journal) {
  const Query decisions{
      .fingerprint = fingerprint_, .after = last_id_, .started = false, .records = false, .pardons = false};
  journal.visit_headings(decisions, [&](const EntryHeading& decision) {
    last_id_ = decision.stamp.id;
    try {
      add(decision.problem, decision.candidate);
    } catch (const Error&) {
      // A winner that this version cannot parse is never a neighbour.
    }
  });
}

void NeighbourIndex::add(const std::string& problem, const std::string& winner) {
  static_cast<void>(Candidate::parse(winner));  // throws here, so that nearest() does not
  const Features features = features_of(Problem::parse(problem));
  Group& group = groups_[features.group];
  const auto [name, is_new_name] = group.numbers.try_emplace(winner, group.names.size());
  if (is_new_name) group.names.push_back(winner);
  const auto [row, is_new_row] = group.rows.try_emplace(problem, group.winners.size());
  if (!is_new_row) {
    group.winners[row->second] = name->second;
    return;
  }
  group.num_sizes = features.log_sizes.size();
  group.log_sizes.insert(group.log_sizes.end(), features.log_sizes.begin(), features.log_sizes.end());
  group.winners.push_back(name->second);
}

std::vector<Candidate> NeighbourIndex::nearest(const Problem& problem, size_t max_count) const {
  const Features features = features_of(problem);
  const auto found = groups_.find(features.group);
  if (found == groups_.end()) return {};
  const Group& group = found->second;
  struct Closest {
    double distance = std::numeric_limits<double>::infinity();
    size_t row = 0, name = 0;
  };
  std::vector<Closest> closest(group.names.size());  // By name.
  for (size_t row = 0; row < group.winners.size(); ++row) {
    double distance = 0;
    for (size_t i = 0; i < group.num_sizes; ++i)
      distance += std::abs(group.log_sizes[row * group.num_sizes + i] - features.log_sizes[i]);
    const size_t name = group.winners[row];
    if (distance < closest[name].distance) closest[name] = {distance, row, name};
  }
  // A name that has lost all its problems to newer winners has no row.
  std::erase_if(closest, [](const Closest& one) { return std::isinf(one.distance); });
  const size_t count = std::min(max_count, closest.size());
  std::partial_sort(
      closest.begin(), closest.begin() + static_cast<ptrdiff_t>(count), closest.end(),
      [](const Closest& a, const Closest& b) { return std::pair(a.distance, a.row) < std::pair(b.distance, b.row); });
  std::vector<Candidate> nearest;
  for (size_t i = 0; i < count; ++i) nearest.push_back(Candidate::parse(group.names[closest[i].name]));
  return nearest;
}

}  // namespace attune
