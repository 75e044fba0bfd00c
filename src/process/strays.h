// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <span>

namespace attune {

/// Descendants that left the group of their Child (setsid, a double fork) and so outlive it. While the object lives
/// this process is a "child subreaper": whoever loses its parent becomes a child of ours. Only for a program whose
/// children are all its own, never in a library; one object at a time.
///
/// What they leave are zombies of ours, those of a Child's group too: call kill() after the end of each child.
class Strays {
 public:
  Strays();
  ~Strays();  ///< Gives the role back; kills nobody.
  Strays(const Strays&) = delete;
  Strays& operator=(const Strays&) = delete;

  /// Kills (SIGKILL) and reaps every descendant but: processes of a live Child, children in `spared` (made by other
  /// means than a Child), and the descendants of both. Returns how many of them were still alive. A process that left a
  /// live child's family (its parent ended) is a stray like any other.
  ///
  /// Any thread, beside others that spawn. 10 µs when there are none, some 0.3 ms for each level of their family tree;
  /// gives up after 100 ms (another call goes on): one that cannot die just now (in a driver), one that forks faster
  /// than it is found. Cannot kill another user's (set-uid) process, and finds nobody without /proc.
  size_t kill(std::span<const pid_t> spared = {});

 private:
  int before_ = 0;  ///< Whether this process was a subreaper already.
};

}  // namespace attune
