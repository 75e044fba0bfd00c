// SPDX-License-Identifier: MIT
#include "dispatch/threads/fork_guard.h"

#include <pthread.h>
#include <unistd.h>

#include <set>

#include "dispatch/threads/forked_thread.h"
#include "dispatch/threads/library_use.h"

namespace attune {

/// The guards of this process. Never freed.
struct ForkGuard::Live {
  std::mutex forking;  ///< Held throughout a fork(), because the end of one would unlock for all.
  Mutex mutex;
  std::set<ForkGuard*> all ATTUNE_GUARDED_BY(mutex);

  // The analysis cannot follow locks in a loop.
  void lock() ATTUNE_NO_THREAD_SAFETY_ANALYSIS {
    forking.lock();
    // This comes first, so that the locks below are not held by a thread that makes a plan.
    LibraryUse::close_for_fork();
    mutex.lock();
    for (ForkGuard* one : all) {
      one->mutex_.lock();
      one->log_.lock();
    }
    detect_threads();
  }
  void unlock() ATTUNE_NO_THREAD_SAFETY_ANALYSIS {
    for (ForkGuard* one : all) {
      one->log_.unlock();
      one->mutex_.unlock();
    }
    mutex.unlock();
  }
};

ForkGuard::Live& ForkGuard::live() {
  static Live& one = *new Live;
  return one;
}

void ForkGuard::come_first() {
  // Number of registered handlers that have run for the current fork() of this thread: the first one locks, the last
  // unlocks.
  static constinit thread_local int num_calls = 0;
  static_cast<void>(::pthread_atfork(
      [] {
        if (num_calls++ == 0) live().lock();
      },
      [] {
        if (--num_calls > 0) return;
        live().unlock();
        LibraryUse::open_after_fork();
        live().forking.unlock();
      },
      [] {
        if (--num_calls > 0) return;
        live().unlock();
        remember_fork();
        LibraryUse::open_in_child();
        live().forking.unlock();
      }));
}

void ForkGuard::prepare() {
  static std::once_flag once;
  std::call_once(once, come_first);
}

ForkGuard::ForkGuard(DispatchLog& log) : log_(log), process_(::getpid()) {
  prepare();
  const Lock lock(live().mutex);
  live().all.insert(this);
}

ForkGuard::~ForkGuard() {
  const Lock lock(live().mutex);
  live().all.erase(this);
}

void ForkGuard::lock() {
  LibraryUse::enter();
  mutex_.lock();
}

void ForkGuard::unlock() noexcept {
  mutex_.unlock();
  LibraryUse::leave();
}

bool ForkGuard::is_in_child() const noexcept { return process_ != ::getpid(); }

void library_was_used() {
  ForkGuard::come_first();
  LibraryUse::close_at_exit();
  if (auto* const hook = after_library_use.load()) hook();
}

}  // namespace attune
