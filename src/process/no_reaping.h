// SPDX-License-Identifier: MIT
#pragma once
#include <signal.h>

namespace attune {

/// For tests: children that end are gone at once, as in an application that ignores SIGCHLD, for the life of the
/// object.
class NoReaping {
 public:
  NoReaping() : before_(::signal(SIGCHLD, SIG_IGN)) {}
  ~NoReaping() { ::signal(SIGCHLD, before_); }
  NoReaping(const NoReaping&) = delete;
  NoReaping& operator=(const NoReaping&) = delete;

 private:
  const sighandler_t before_;
};

}  // namespace attune
