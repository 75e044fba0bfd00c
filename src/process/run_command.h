// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "process/child.h"

namespace attune {

struct CommandResult {
  WaitStatus status;
  std::string output;  ///< Both streams, as they came.
};

/// Runs a short command to its end and reads what it wrote; `command.output` is not used. It is ended when the deadline
/// passes or when it has written more than `max_bytes`. Throws as Child, and as read_file.
CommandResult run_command(ChildCommand command, Milliseconds deadline, uint64_t max_bytes = 1 << 20);

}  // namespace attune
