// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/candidate.h"
#include "store/journal.h"

namespace attune {

/// Winners that a journal holds of devices of one fingerprint, by what their problems have in common. One thread.
class NeighbourIndex {
 public:
  explicit NeighbourIndex(std::string fingerprint) : fingerprint_(std::move(fingerprint)) {}

  /// Takes in what was decided since the last call, by any process. About 4 µs a new Decision, 30 µs without one.
  void refresh(const Journal& journal);
  /// Winners of the problems most like this one (same op and types, sizes nearest by the sum of their log ratios),
  /// nearest first, each candidate once. About 5 ns for each problem of the same op and types.
  std::vector<Candidate> nearest(const Problem& problem, size_t at_most) const;

 private:
  /// Problems that differ in sizes alone.
  struct Group {
    size_t num_sizes = 0;
    std::vector<double> log_sizes;                    ///< num_sizes of each problem.
    std::vector<std::string> winners;                 ///< Candidate::name(), by problem; the newest.
    std::map<std::string, size_t, std::less<>> rows;  ///< By Problem::key().
  };
  void add(const Winner& winner);

  std::string fingerprint_;
  int64_t last_id_ = 0;
  std::map<std::string, Group> groups_;
};

}  // namespace attune
