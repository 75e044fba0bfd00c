// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

namespace attune {

/// Whether the calling thread survived a fork() of a process that had threads other than the library's own. Runtime
/// state kept for such a thread, above all libgomp's team, may wait without end for threads that no longer exist.
/// Threads started after the fork are not affected. When such a thread ends, libgomp does not wait for its team. About
/// 1 ns.
bool came_through_fork() noexcept;

/// Runs a call into a library with a thread pool. A thread that survived a fork() has the call run by another thread,
/// which was started after the fork and is reused until the calling thread ends; any other thread runs it itself.
/// Throws what the call throws; unavailable when no thread can be started.
void run_with_pools(const std::function<void()>& call);

/// Handlers for the forking thread: detect_threads() runs before the fork, remember_fork() in the child.
void detect_threads() noexcept;
void remember_fork() noexcept;

}  // namespace attune
