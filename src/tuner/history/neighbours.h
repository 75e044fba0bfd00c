// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/candidate.h"
#include "store/journal.h"

namespace attune {

/// Winners recorded in a journal for devices of one fingerprint, indexed by the features of their problems. Not
/// thread-safe.
class NeighbourIndex {
 public:
  explicit NeighbourIndex(std::string fingerprint) : fingerprint_(std::move(fingerprint)) {}

  /// Reads the decisions made since the last call, by any process. About 4 µs per new Decision, 30 µs without one.
  void refresh(const Journal& journal);
  /// Returns the winners of the most similar problems (same op and types, smallest sum of the log ratios of their
  /// sizes), nearest first, each candidate once. About 3 ns per problem of the same op and types.
  std::vector<Candidate> nearest(const Problem& problem, size_t max_count) const;

 private:
  /// Problems that differ only in sizes.
  struct Group {
    size_t num_sizes = 0;
    std::vector<double> log_sizes;                       ///< num_sizes values per problem.
    std::vector<size_t> winners;                         ///< Number of the newest winner's name, by problem.
    std::vector<std::string> names;                      ///< Candidate::name() of each winner there was.
    std::map<std::string, size_t, std::less<>> numbers;  ///< Of the names.
    std::map<std::string, size_t, std::less<>> rows;     ///< By Problem::key().
  };
  void add(const std::string& problem, const std::string& winner);

  std::string fingerprint_;
  int64_t last_id_ = 0;
  std::map<std::string, Group> groups_;
};

}  // namespace attune
