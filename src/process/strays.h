// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <chrono>
#include <span>

namespace attune {

/// Descendants that left the group of their Child (setsid, a double fork) and so outlive it. While the object lives
/// this process is a "child subreaper": whoever loses its parent becomes a child of ours. Only for a program whose
/// children are all its own, never in a library; one object at a time.
///
/// What they leave are zombies of ours, those of a Child's group too: call kill() after the end of each child.
/// Its destructor ends those whom kill() had no time for.
class Strays {
 public:
  Strays();
  /// Kills all that are left (as kill(), 5 s at most) and gives the role back. Children that are to stay belong to a
  /// Child.
  ~Strays();
  Strays(const Strays&) = delete;
  Strays& operator=(const Strays&) = delete;

  /// Kills (SIGKILL) and reaps every descendant but: processes of a live Child, children in `spared` (made by other
  /// means than a Child), and the descendants of both. Returns how many of them were still alive. A process that left a
  /// live child's family (its parent ended) is a stray like any other.
  ///
  /// Any thread, beside others that spawn. 10 µs when there are none, some 0.3 ms for each level of their family tree;
  /// gives up after `at_most` (another call goes on): hundreds, one that cannot die just now (in a driver), one that
  /// forks faster than it is found. Cannot kill another user's (set-uid) process, and finds nobody without /proc.
  size_t kill(std::span<const pid_t> spared = {}, std::chrono::milliseconds at_most = std::chrono::milliseconds(100));

 private:
  int before_ = 0;  ///< Whether this process was a subreaper already.
};

}  // namespace attune
