// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "attune/dispatch_counts.h"
#include "base/mutex.h"

namespace attune {

/// Writes a dispatcher's messages to the application's standard error: a bounded number of lines, each once, and at the
/// end a sentence about the suppressed ones. Thread-safe.
class DispatchLog {
 public:
  static constexpr uint64_t kMaxLines = 90;

  void say(const std::string& sentence);
  /// Prints a sentence even if it was printed before or the limit is reached.
  void say_always(const std::string& sentence);
  /// Locks the log around a fork(), so that the child does not find it locked forever.
  void lock() ATTUNE_ACQUIRE(mutex_) { mutex_.lock(); }
  void unlock() ATTUNE_RELEASE(mutex_) { mutex_.unlock(); }
  /// Prints the last lines: the number of suppressed lines, and the missed lookups. `has_left`: whether callers have
  /// computed calls that no row served, whose shapes are in no count. `capture_error`: why shapes are not captured, as
  /// Capture::flush() returns it, and empty if they are; nothing if no capture was wanted. `may_be_captured`: the
  /// application has made a capture of its own, of which nobody knows here what it has.
  void finish(const DispatchCounts& all, bool has_left, const std::optional<std::string>& capture_error,
              bool may_be_captured);

 private:
  static constexpr size_t kMaxKept = 1024;
  void print(const std::string& sentence) ATTUNE_REQUIRES(mutex_);

  Mutex mutex_;
  uint64_t num_lines_ ATTUNE_GUARDED_BY(mutex_) = 0;
  std::set<std::string> sentences_
      ATTUNE_GUARDED_BY(mutex_);  ///< Printed and suppressed sentences; the first kMaxKept.
};

}  // namespace attune
