// SPDX-License-Identifier: MIT
#pragma once
#include <signal.h>

namespace attune {

/// For tests: during the object's life, children that end disappear at once, as in an application that ignores SIGCHLD.
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
