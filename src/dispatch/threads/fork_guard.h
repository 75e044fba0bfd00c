// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <mutex>

#include "base/mutex.h"
#include "dispatch/threads/dispatch_log.h"

namespace attune {

/// A dispatcher's lock for making plans, which is safe across fork(): a child never finds it, or the log, held by a
/// thread that it does not have. While it is held, it counts as a LibraryUse.
class ATTUNE_CAPABILITY("mutex") ForkGuard {
 public:
  /// Every fork() holds this and `log` from now on until the guard is destroyed.
  explicit ForkGuard(DispatchLog& log);
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  /// Throws like LibraryUse::enter().
  void lock() ATTUNE_ACQUIRE();
  void unlock() noexcept ATTUNE_RELEASE();
  /// Whether this process is a child of the one that made the dispatcher.
  bool is_in_child() const noexcept;

  /// Call it before the first LibraryUse of a process; the constructor does so.
  static void prepare();
  /// Makes every fork() wait for LibraryUses before it calls the handlers registered with pthread_atfork() so far. A
  /// library's handler may end its threads while others wait for them, or take a lock that they need.
  static void come_first();

 private:
  struct Live;
  static Live& live();

  std::mutex mutex_;
  DispatchLog& log_;
  const int process_;
};

/// Call this after a library was opened, and after its first use. It registers LibraryUse::close_for_exit() to run
/// before the static objects that the library has created so far are destroyed, and calls after_library_use, whose
/// registrations run earlier still. A fork() then waits for LibraryUses before it calls the handlers that the library
/// has registered.
void library_was_used();

/// Hook called by library_was_used(). Null: none.
inline std::atomic<void (*)()> after_library_use{nullptr};

}  // namespace attune
