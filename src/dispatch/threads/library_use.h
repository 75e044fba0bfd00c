// SPDX-License-Identifier: MIT
#pragma once
namespace attune {

/// A scope in which the process must neither fork nor end: a call into a solver's library, or holding a lock for making
/// plans. fork() waits until all threads have left their scopes, because a child would find the library's locks held by
/// threads that it does not have. The end of the process waits too, because libraries then destroy what their threads
/// use. Scopes may nest. About 10 ns.
class LibraryUse {
 public:
  LibraryUse() { enter(); }
  ~LibraryUse() { leave(); }
  LibraryUse(const LibraryUse&) = delete;
  LibraryUse& operator=(const LibraryUse&) = delete;

  /// Waits while another thread forks. Once the process is ending, every thread but the one that ends it sleeps a
  /// while, so that the process is usually gone first, and then gets the error unavailable: the ending thread may be
  /// waiting for it.
  static void enter();
  static void leave() noexcept;

  /// Called by the forking thread before the fork. Waits at most 10 s for the other threads; after that the child may
  /// find a library's lock held.
  static void close_for_fork() noexcept;
  static void open_after_fork() noexcept;
  static void open_in_child() noexcept;
  /// Called by the thread that ends the process. Further calls do nothing.
  static void close_for_exit() noexcept;
  /// Registers close_for_exit() for the end of the process; it runs before everything registered so far.
  static void close_at_exit() noexcept;
};

}  // namespace attune
