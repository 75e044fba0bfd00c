// SPDX-License-Identifier: MIT
#include "tuner/history/neighbours.h"

#include <algorithm>
#include <cmath>
#include <limits>

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
  journal.visit_winners(fingerprint_, last_id_, [&](const Winner& winner) {
    last_id_ = winner.id;
    try {
      add(winner);
    } catch (const Error&) {
      // A winner that this version cannot parse is never a neighbour.
    }
  });
}

void NeighbourIndex::add(const Winner& winner) {
  static_cast<void>(Candidate::parse(winner.candidate_name));  // throws here, so that nearest() does not
  const Features features = features_of(Problem::parse(winner.problem));
  Group& group = groups_[features.group];
  const auto [place, is_new] = group.rows.try_emplace(winner.problem, group.winners.size());
  if (!is_new) {
    group.winners[place->second] = winner.candidate_name;
    return;
  }
  group.num_sizes = features.log_sizes.size();
  group.log_sizes.insert(group.log_sizes.end(), features.log_sizes.begin(), features.log_sizes.end());
  group.winners.push_back(winner.candidate_name);
}

std::vector<Candidate> NeighbourIndex::nearest(const Problem& problem, size_t max_count) const {
  const Features features = features_of(problem);
  const auto found = groups_.find(features.group);
  if (found == groups_.end()) return {};
  const Group& group = found->second;
  std::vector<double> distances(group.winners.size());
  for (size_t row = 0; row < distances.size(); ++row) {
    for (size_t i = 0; i < group.num_sizes; ++i)
      distances[row] += std::abs(group.log_sizes[row * group.num_sizes + i] - features.log_sizes[i]);
  }
  std::vector<Candidate> nearest;
  constexpr double kTaken = std::numeric_limits<double>::infinity();
  while (nearest.size() < max_count && !distances.empty()) {
    const auto closest = std::min_element(distances.begin(), distances.end());
    if (*closest == kTaken) break;
    const std::string& name = group.winners[static_cast<size_t>(closest - distances.begin())];
    for (size_t row = 0; row < distances.size(); ++row) {
      if (group.winners[row] == name) distances[row] = kTaken;
    }
    nearest.push_back(Candidate::parse(name));
  }
  return nearest;
}

}  // namespace attune
