// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "process/child.h"

namespace attune {

struct CommandResult {
  WaitStatus status;
  std::string output;  ///< Both streams, in order of arrival.
};

/// Runs a short command to its end and returns its output; `command.output` is ignored. The command is killed at the
/// deadline, or when it has written more than `max_bytes`. Throws like Child and read_file.
CommandResult run_command(ChildCommand command, Milliseconds deadline, uint64_t max_bytes = 1 << 20);

}  // namespace attune
