// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>

namespace attune {

/// A thread's stay where only whole processes may be: in a solver's library, or under a lock that plans are made under.
/// fork() waits until all threads are out, for a child would find the library's locks taken by a thread that it does
/// not have. So does the end of the process, in which libraries take down what their threads use. Nests. About 10 ns.
class LibraryUse {
 public:
  LibraryUse() { enter(); }
  ~LibraryUse() { leave(); }
  LibraryUse(const LibraryUse&) = delete;
  LibraryUse& operator=(const LibraryUse&) = delete;

  /// Waits while another thread forks. Once the process ends, every thread but the one that ends it waits a while, so
  /// that the process is gone before it goes on, and then gets unavailable: who ends the process may be waiting for it.
  static void enter();
  static void leave() noexcept;

  /// Around a fork(), by the thread that forks. Waits at most 10 s for the others: after that the child may find a
  /// library's lock taken.
  static void close_for_fork() noexcept;
  static void open_after_fork() noexcept;
  static void open_in_child() noexcept;
  /// Of the thread that ends the process, once; again does nothing.
  static void close_for_exit() noexcept;
  /// Has close_for_exit() called when the process ends, before what was registered for that until now.
  static void close_at_exit() noexcept;
};

/// To be called when a library was opened, and when it was used for the first time: what is registered for the
/// process's end now runs before the static objects that the library has made until then are taken down. That is
/// LibraryUse::close_for_exit(), and before it after_library_use. A fork() waits for LibraryUses before it calls what
/// the library has registered for that.
void library_was_used();

/// Called by library_was_used(). Null: nothing.
inline std::atomic<void (*)()> after_library_use{nullptr};

}  // namespace attune
