// SPDX-License-Identifier: MIT
#include "tuner/neighbours.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/text.h"

namespace attune {
namespace {

/// Sum of |ln(a/b)| over the numbers; nothing when anything else differs.
std::optional<double> distance(const Problem& one, const Problem& other) {
  if (one.op() != other.op() || one.attributes().size() != other.attributes().size()) return std::nullopt;
  double sum = 0;
  for (const auto& [name, value] : one.attributes()) {
    if (!other.has(name)) return std::nullopt;
    if (other.text(name) == value) continue;
    const auto a = parse_int(value), b = parse_int(other.text(name));
    if (!a || !b || *a <= 0 || *b <= 0) return std::nullopt;
    sum += std::abs(std::log(static_cast<double>(*a) / static_cast<double>(*b)));
  }
  return sum;
}

}  // namespace

std::vector<Candidate> nearest_winners(const Journal& journal, const Problem& problem, const std::string& device,
                                       size_t at_most) {
  std::multimap<double, Candidate> by_distance;
  journal.scan({.device = device, .started = false, .records = false, .pardons = false}, [&](const Entry& entry) {
    const auto& decision = std::get<Decision>(entry);
    if (const auto far = distance(problem, decision.problem)) by_distance.emplace(*far, decision.winner);
  });
  std::vector<Candidate> nearest;
  for (const auto& [far, candidate] : by_distance) {
    if (nearest.size() == at_most) break;
    if (std::find(nearest.begin(), nearest.end(), candidate) == nearest.end()) nearest.push_back(candidate);
  }
  return nearest;
}

}  // namespace attune
