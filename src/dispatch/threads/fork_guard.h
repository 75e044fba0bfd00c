// SPDX-License-Identifier: MIT
#pragma once
#include <mutex>

#include "dispatch/threads/dispatch_log.h"

namespace attune {

/// A dispatcher's locks, which a child of fork() must not find taken by a thread that it does not have, and the lock
/// that its plans are made under: held as a std::mutex is, it is a LibraryUse, too.
class ForkGuard {
 public:
  /// `making` and `log` are held by every fork() from now on, until the guard ends.
  ForkGuard(std::mutex& making, DispatchLog& log);
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  /// Throws as LibraryUse::enter().
  void lock();
  void unlock() noexcept;
  /// Whether this process is a child of the one that made the dispatcher.
  bool is_in_child() const noexcept;

  /// To be called before the first LibraryUse of a process. A guard does it.
  static void prepare();
  /// Has every fork() wait for LibraryUses before it calls what was registered with pthread_atfork() until now: a
  /// library may end its threads there, which others must not be waiting for, or take a lock that they want.
  static void come_first();

 private:
  struct Live;
  static Live& live();

  std::mutex& making_;
  DispatchLog& log_;
  const int process_;
};

}  // namespace attune
