// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "server/journal/journal_totals.h"
#include "server/journal/newest_results.h"
#include "server/journal/quarantine_index.h"
#include "server/journal/result_index.h"
#include "server/journal/run_index.h"
#include "server/journal/served_journal.h"

namespace attune {

/// How much of a journal a watch has read.
struct WatchState {
  uint64_t generation = 0;   ///< ServedJournal::generation() of what it holds.
  int64_t newest_id = 0;     ///< Of the newest entry that it has seen.
  bool is_complete = false;  ///< Whether it has read the older entries too.
  std::string failure;       ///< Why it could not read; empty: it could.
};

/// Some entries of a journal.
struct JournalStep {
  std::vector<EntryHeading> headings;            ///< Of all, in the order of the query.
  std::vector<std::pair<Entry, Stamp>> entries;  ///< Decisions, ends of runs and bans in full, in that order.
};

/// Reads a journal in a thread of its own, newest results first, and then follows it: what is committed is seen within
/// half a second. Starts anew when the journal is replaced. Thread-safe.
class JournalWatch {
 public:
  explicit JournalWatch(const std::filesystem::path& file);
  ~JournalWatch();
  JournalWatch(const JournalWatch&) = delete;
  JournalWatch& operator=(const JournalWatch&) = delete;

  WatchState state() const;
  ResultPage page(const ResultQuery& query) const;
  /// Made once after each change, while others may ask the watch; whoever asks next shares it.
  std::shared_ptr<const NewestResults> newest_results() const;
  /// As RunIndex::newest().
  std::vector<RunRow> runs(int64_t before, size_t limit) const;
  std::optional<RunRow> run(int64_t number) const;
  /// As QuarantineIndex::newest() and made().
  std::vector<QuarantineVerdict> deaths(int64_t before, size_t limit) const;
  std::optional<std::pair<BanChange, Stamp>> made(const Ban& ban) const;
  std::vector<Metric> metrics() const;
  /// Waits until there is an entry with a larger id, the journal is another one than `generation`, or the time is over.
  WatchState wait_beyond(int64_t id, uint64_t generation, std::chrono::milliseconds max) const;

 private:
  void follow();
  bool read_older();
  bool read_newer();
  void begin_anew();
  /// `is_newest`: what it says is newer than all that was taken; otherwise older.
  void take(const JournalStep& step, bool is_newest) ATTUNE_REQUIRES(mutex_);
  void set_failure(const std::string& failure);

  const std::filesystem::path file_;
  ServedJournal journal_;  ///< Used by the thread alone.
  mutable Mutex mutex_;
  mutable std::condition_variable_any changed_;
  WatchState state_ ATTUNE_GUARDED_BY(mutex_);
  ResultIndex results_ ATTUNE_GUARDED_BY(mutex_);
  uint64_t num_changes_ ATTUNE_GUARDED_BY(mutex_) = 0;  ///< Of results_.
  RunIndex runs_ ATTUNE_GUARDED_BY(mutex_);
  QuarantineIndex quarantine_ ATTUNE_GUARDED_BY(mutex_);
  JournalTotals totals_ ATTUNE_GUARDED_BY(mutex_);
  bool is_ended_ ATTUNE_GUARDED_BY(mutex_) = false;
  mutable Mutex newest_mutex_;  ///< Taken before mutex_.
  mutable std::shared_ptr<const NewestResults> newest_ ATTUNE_GUARDED_BY(newest_mutex_);
  mutable uint64_t newest_of_ ATTUNE_GUARDED_BY(newest_mutex_) = 0;  ///< num_changes_ of newest_.
  int64_t oldest_id_ = 0;  ///< Of the oldest entry that was read; used by the thread alone.
  std::thread thread_;     ///< Last: it uses the others.
};

}  // namespace attune
