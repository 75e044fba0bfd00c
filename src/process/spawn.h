// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include "process/child_command.h"

namespace attune {

struct SpawnResult {
  pid_t pid;
  int descriptor;  ///< pidfd, closed on exec; the caller must close it.
};

/// Starts the command as documented at Child, and throws like its constructor. The process is in OwnedChildren until
/// the caller has reaped it and removes it there.
SpawnResult spawn(const ChildCommand& command);

}  // namespace attune
