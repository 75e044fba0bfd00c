// SPDX-License-Identifier: MIT
#pragma once
#include <mutex>

/// Clang checks these statements with -Wthread-safety, an error in `cmake --preset tidy`
/// (https://clang.llvm.org/docs/ThreadSafetyAnalysis.html); other compilers ignore them.
#ifdef __clang__
#define ATTUNE_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define ATTUNE_THREAD_ANNOTATION(x)
#endif
/// A class whose objects threads hold one at a time, and a scope that holds one.
#define ATTUNE_CAPABILITY(kind) ATTUNE_THREAD_ANNOTATION(capability(kind))
#define ATTUNE_SCOPED_CAPABILITY ATTUNE_THREAD_ANNOTATION(scoped_lockable)
/// A member that is used only while the named lock is held; for a pointer, what it points to.
#define ATTUNE_GUARDED_BY(lock) ATTUNE_THREAD_ANNOTATION(guarded_by(lock))
#define ATTUNE_PT_GUARDED_BY(lock) ATTUNE_THREAD_ANNOTATION(pt_guarded_by(lock))
/// A function that is called only while the named locks are held, or are not held.
#define ATTUNE_REQUIRES(...) ATTUNE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define ATTUNE_EXCLUDES(...) ATTUNE_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
/// A function that returns holding the named locks (of a scope: its own), or releases them.
#define ATTUNE_ACQUIRE(...) ATTUNE_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define ATTUNE_RELEASE(...) ATTUNE_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define ATTUNE_TRY_ACQUIRE(...) ATTUNE_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
/// A function whose locking the analysis cannot follow; a comment says why.
#define ATTUNE_NO_THREAD_SAFETY_ANALYSIS ATTUNE_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace attune {

/// A std::mutex that the analysis knows.
class ATTUNE_CAPABILITY("mutex") Mutex {
 public:
  constexpr Mutex() noexcept = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  void lock() ATTUNE_ACQUIRE() { mutex_.lock(); }
  void unlock() noexcept ATTUNE_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

/// Holds a Mutex, or another class with lock() and unlock(), until the end of the scope. It may be opened in between.
template <typename Lockable>
class ATTUNE_SCOPED_CAPABILITY Lock {
 public:
  explicit Lock(Lockable& lockable) ATTUNE_ACQUIRE(lockable) : lockable_(lockable) { lockable_.lock(); }
  ~Lock() ATTUNE_RELEASE() {
    if (is_held_) lockable_.unlock();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  void lock() ATTUNE_ACQUIRE() {
    lockable_.lock();
    is_held_ = true;
  }
  void unlock() noexcept ATTUNE_RELEASE() {
    is_held_ = false;
    lockable_.unlock();
  }

 private:
  Lockable& lockable_;
  bool is_held_ = true;
};

}  // namespace attune
