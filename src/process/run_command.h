// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "process/child.h"

namespace attune {

struct CommandResult {
  WaitStatus status;
  std::string output;  ///< Both streams, in order of arrival; with OutputStreams::apart standard output.
  std::string errors;  ///< With OutputStreams::apart: standard error.
};

enum class OutputStreams : uint8_t { together, apart };

/// Runs a short command to its end and returns its output; `command.output` and `command.errors` are ignored. The
/// command is killed at the deadline, or when it has written more than `max_bytes` to one stream. Throws like Child and
/// read_file.
CommandResult run_command(ChildCommand command, Milliseconds deadline, uint64_t max_bytes = 1 << 20,
                          OutputStreams streams = OutputStreams::together);

}  // namespace attune
