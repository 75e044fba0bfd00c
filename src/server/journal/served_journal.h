// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "store/journal.h"

namespace attune {

/// A journal that other programs write, compact and replace while it is read. Thread-safe: one reads at a time.
class ServedJournal {
 public:
  explicit ServedJournal(std::filesystem::path file) : file_(std::move(file)) {}

  /// Calls `read` with the journal that the path names now. Throws what opening it throws (not_found while there is
  /// none), and what `read` does.
  template <typename Read>
  auto read(Read read) {
    const Lock lock(mutex_);
    return read(std::as_const(current()));
  }
  /// Changes when another file has taken the path, whose ids are others.
  uint64_t generation() {
    const Lock lock(mutex_);
    return generation_;
  }

 private:
  Journal& current() ATTUNE_REQUIRES(mutex_) {
    if (journal_ && !journal_->is_in_place()) journal_.reset();
    if (!journal_) {
      journal_ = open_sql_journal_read_only(file_);
      ++generation_;
    }
    return *journal_;
  }

  const std::filesystem::path file_;
  Mutex mutex_;
  std::unique_ptr<Journal> journal_ ATTUNE_GUARDED_BY(mutex_);
  uint64_t generation_ ATTUNE_GUARDED_BY(mutex_) = 0;
};

}  // namespace attune
