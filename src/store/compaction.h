// SPDX-License-Identifier: MIT
#pragma once
#include <set>

#include "base/hash.h"
#include "store/journal.h"

namespace attune {

/// Decides what compact() does with each entry; the same for every journal. Requires: entries are passed newest first.
class Compaction {
 public:
  /// `strip`: keep it without its samples. Statuses and medians stay, because crashes are counted.
  enum class Action : uint8_t { keep, strip, drop };
  Action judge(const Entry& entry);

 private:
  Action judge(const Started& started);
  Action judge(const Record& record);
  std::set<Hash128> measured_, superseded_;
};

/// Returns the record without its samples.
Record stripped(Record record);

}  // namespace attune
