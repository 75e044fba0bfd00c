// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "store/journal.h"

namespace attune {

/// Whether a text is an outcome, a verdict or the ending of a run, by which Query::statuses selects entries.
bool is_entry_status(std::string_view text);

/// Throws invalid_input for a run that the journal does not have: a run gets its number when it begins, so none can be
/// waited for. 0: any run.
void check_run(const Journal& journal, int64_t run);

/// Returns the id of the newest entry that can be read; 0 for an empty journal.
int64_t newest_entry_id(const Journal& journal);

/// The newest decisions of a journal.
struct NewestDecisions {
  std::vector<std::pair<Decision, Stamp>> decisions;  ///< The newest last.
  size_t num_damaged = 0;                             ///< Entries that cannot be read.
};
/// Reads the newest decisions that match, at most `max_decisions`.
NewestDecisions newest_decisions(const Journal& journal, Query query, size_t max_decisions);
/// Counts all decisions that match. It reads them all, where newest_decisions() reads only those it returns.
size_t count_decisions(const Journal& journal, Query query);

/// Counts entries and unique candidates of problems. Candidates are counted in announcements and records, because
/// compaction drops announcements.
class EntryTally {
 public:
  void add(const Entry& entry);
  size_t num_decisions() const noexcept { return num_decisions_; }
  size_t num_records() const noexcept { return num_records_; }
  size_t num_candidates() const noexcept { return candidates_.size(); }

 private:
  size_t num_decisions_ = 0, num_records_ = 0;
  std::set<Hash128> candidates_;
};

}  // namespace attune
