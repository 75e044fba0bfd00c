// SPDX-License-Identifier: MIT
#include "campaign/captured_limits.h"

#include <algorithm>

#include "base/error.h"
#include "dispatch/capture/captured_shapes.h"

namespace attune {

CapturedLimits::CapturedLimits(const std::filesystem::path& list, const std::string& op, int64_t own_limit)
    : own_limit_(own_limit) {
  std::error_code missing;
  if (counts_files(list).empty() || !std::filesystem::is_regular_file(list, missing)) return;
  try {
    bool is_known = false;
    for (const CapturedShapes& family : read_captures({&list, 1}, op.empty() ? nullptr : find_family(op))) {
      for (const CalledShape& shape : family.shapes) {
        is_known = is_known || shape.threads != 0;
        const bool is_possible = shape.threads != 0 && shape.threads <= own_limit;
        const int64_t limit = is_possible ? shape.threads : own_limit;
        by_shape_[shape.problem.key()].insert(limit);
        limits_.insert(limit);
      }
    }
    if (!is_known) limits_.clear();
  } catch (const Error&) {
    limits_.clear();  // The reader of the list reports the error.
  }
}

bool CapturedLimits::contains(const Problem& problem, int64_t limit) const {
  const auto found = by_shape_.find(problem.key());
  return found == by_shape_.end() ? limit == own_limit_ : found->second.contains(limit);
}

}  // namespace attune
