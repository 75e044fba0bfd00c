// SPDX-License-Identifier: MIT
#pragma once
#include "process/child.h"

namespace attune {

struct Spawned {
  pid_t pid;
  int descriptor;  ///< pidfd, closed on exec; the caller's to close.
};

/// Starts the command as Child promises. Throws as its constructor does. The process is one of OwnedChildren, until the
/// caller has reaped it and removes it there.
Spawned spawn(const ChildCommand& command);

}  // namespace attune
