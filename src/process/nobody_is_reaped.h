// SPDX-License-Identifier: MIT
#pragma once
#include <signal.h>

namespace attune {

/// For tests: children that end are gone at once, as in an application that ignores SIGCHLD, for the life of the
/// object.
class NobodyIsReaped {
 public:
  NobodyIsReaped() : before_(::signal(SIGCHLD, SIG_IGN)) {}
  ~NobodyIsReaped() { ::signal(SIGCHLD, before_); }
  NobodyIsReaped(const NobodyIsReaped&) = delete;
  NobodyIsReaped& operator=(const NobodyIsReaped&) = delete;

 private:
  const sighandler_t before_;
};

}  // namespace attune
