// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "formats/find_db/find_db.h"

namespace attune {

/// A key of a comparison. Views of the two find-dbs, which must outlive it.
struct FindDbChange {
  const FindDbRecord *before = nullptr, *after = nullptr;  ///< Null: the key is not there.
  /// The entries with the least time, by name if tied; null: no record.
  const FindDbEntry *old_best = nullptr, *new_best = nullptr;
  std::optional<double> ratio;  ///< old time / new time of the best: above 1 means that the new one is faster.
  std::string_view key() const { return after != nullptr ? after->key : before->key; }
};

struct FindDbDiff {
  std::vector<FindDbChange> added, removed, changed;  ///< In the order of their file (changed: of the new one).
  size_t num_same = 0;
};

/// Compares keys. Entries are compared as texts without regard to their order or version; repeated keys are paired in
/// order.
FindDbDiff diff(const FindDb& before, const FindDb& after);

}  // namespace attune
