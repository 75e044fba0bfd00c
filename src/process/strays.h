// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <chrono>
#include <span>

namespace attune {

/// Kills descendants that left the group of their Child (setsid, a double fork) and so outlive it. During the object's
/// life this process is a "child subreaper": orphaned descendants become its children. Only for a program that owns all
/// its children, never in a library; one object at a time.
///
/// Strays, and orphans in a Child's group, become zombies of this process: call kill() after the end of each child. The
/// destructor kills those that kill() did not reach in time.
class Strays {
 public:
  Strays();
  /// Kills all remaining strays (like kill(), for at most 5 s) and gives up the role of subreaper. A child to be kept
  /// must belong to a Child.
  ~Strays();
  Strays(const Strays&) = delete;
  Strays& operator=(const Strays&) = delete;

  /// Kills (SIGKILL) and reaps every descendant except processes of a live Child, children in `spared` (not made by a
  /// Child), and the descendants of both. Returns how many of them were still alive. A process that left a live child's
  /// family (its parent ended) is a stray like any other.
  ///
  /// Any thread may call it, while others spawn. Takes 10 µs when there are no strays, about 0.3 ms for each level of
  /// their family tree. Gives up after `timeout` (another call continues): there may be hundreds, one that cannot be
  /// killed yet (in a driver), or one that forks faster than it is found. Cannot kill another user's (set-uid) process,
  /// and finds none without /proc.
  size_t kill(std::span<const pid_t> spared = {}, std::chrono::milliseconds timeout = std::chrono::milliseconds(100));

 private:
  int before_ = 0;  ///< Whether this process was a subreaper already.
};

}  // namespace attune
