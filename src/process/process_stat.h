// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attune {

/// Places in what process_stat() returns.
inline constexpr size_t kParent = 1, kUserTicks = 11, kSystemTicks = 12, kStartTicks = 19;

/// The fields of /proc/<pid>/stat that follow the program's name (which may hold blanks and brackets), from the state
/// on; what is no number is 0. Empty when there is no such process.
std::vector<int64_t> process_stat(pid_t pid);

}  // namespace attune
