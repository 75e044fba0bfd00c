// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attune {

/// Indices into the result of process_stat().
inline constexpr size_t kParent = 1, kUserTicks = 11, kSystemTicks = 12, kStartTicks = 19, kResidentPages = 21;

/// The fields of /proc/<pid>/stat after the program's name (which may contain blanks and brackets), from the state on;
/// a field that is not a number is 0. Empty when there is no such process.
std::vector<int64_t> process_stat(pid_t pid);

}  // namespace attune
