// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "attune/problem.h"

namespace attune {

/// The thread limits under which the shapes of a list were captured (docs/formats/capture.md). A shape of unknown
/// limit, or of limits that this process cannot have, counts as called under the process's own.
class CapturedLimits {
 public:
  /// Reads the file of counts that belongs to a list of shapes. A list has no limits if that file is missing or cannot
  /// be read. `own_limit`: of this process.
  CapturedLimits(const std::filesystem::path& list, const std::string& op, int64_t own_limit);

  /// Returns all limits, ascending; empty: none is known.
  std::vector<int64_t> all() const { return {limits_.begin(), limits_.end()}; }
  bool contains(const Problem& problem, int64_t limit) const;

 private:
  int64_t own_limit_;
  std::map<std::string, std::set<int64_t>> by_shape_;
  std::set<int64_t> limits_;
};

}  // namespace attune
