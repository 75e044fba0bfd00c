// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

#include "process/wait_status.h"

namespace attune {

/// The outcome of a failed compiler, from its status and output; ok for exit status 0. Drivers such as gcc run the
/// compiler proper as a child and exit with 1 or 4 when that dies, so the output decides:
///   "No space left on device": compile_failed, reported as a full disk.
///   "out of memory" and similar phrases: out_of_memory.
///   "internal compiler error": crashed.
///   Any other exit status: compile_failed, reported as a rejected source.
/// The detail has at most 400 characters, from the first line that names the reason on.
Outcome compiler_failure(const WaitStatus& status, std::string_view log, std::string_view toolchain);

/// Whether a log mentions a lack of disk, memory or processes, or a crash.
bool blames_machine(std::string_view log);
/// Whether the failure is deterministic, so that the compiler would reject the source again: it exited by itself, its
/// log names the place of an error, and does not blame the machine. In doubt false.
bool is_rejection(const WaitStatus& status, std::string_view log);

}  // namespace attune
