// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "base/mutex.h"

namespace attune {

/// The children of this process that a Child owns: spawn() made them and they are not reaped yet. Thread-safe.
class OwnedChildren {
 public:
  static OwnedChildren& instance();

  /// Lock held from before a child is made until it is added: a thread that holds pause() sees no child without its
  /// owner.
  std::shared_lock<std::shared_mutex> birth() { return std::shared_lock(births_); }
  std::unique_lock<std::shared_mutex> pause() { return std::unique_lock(births_); }
  void add(pid_t pid);
  void remove(pid_t pid) noexcept;  ///< To be called after reaping.
  bool contains(pid_t pid) const;

 private:
  std::shared_mutex births_;
  mutable Mutex mutex_;
  std::vector<pid_t> pids_ ATTUNE_GUARDED_BY(mutex_);
};

/// All children of this process, zombies too, from the kernel's list for each thread; empty if the kernel was built
/// without these lists. Takes 10 µs.
std::optional<std::vector<pid_t>> listed_children();
/// Like listed_children(), but from the parent of every process of the machine; takes about 5 µs for each.
std::vector<pid_t> scanned_children();

}  // namespace attune
