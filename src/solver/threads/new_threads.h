// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

namespace attune {

/// Whether the system lets this process start `count` threads at once. Starts them, asleep, and ends them: limits of
/// processes (RLIMIT_NPROC, a cgroup's pids.max) and of memory show in no other way. Ask before a library starts
/// threads that it cannot do without: libgomp and OpenBLAS end the process when one is refused. Other threads of the
/// process may take the places meanwhile. Takes about 20 µs a thread.
bool can_start_threads(size_t count) noexcept;

}  // namespace attune
