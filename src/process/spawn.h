// SPDX-License-Identifier: MIT
#pragma once
#include "process/child.h"

namespace attune {

struct Spawned {
  pid_t pid;
  int descriptor;  ///< pidfd, closed on exec; the caller's to close.
};

/// Starts the command as Child promises. Throws as its constructor does.
Spawned spawn(const ChildCommand& command);

}  // namespace attune
