// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

namespace attune {

/// Whether the calling thread came through a fork() out of a process that had other threads than the library's own.
/// What a run time keeps for it, libgomp's team above all, may then wait for threads that are gone, for ever. A thread
/// that was started since has no such past. When the thread ends, libgomp does not wait for its team. About 1 ns.
bool came_through_fork() noexcept;

/// Runs a call into a library with a thread pool: here, or, for a thread that came through a fork(), in one that was
/// started since and stays for the next such call, until the calling thread ends. Throws what the call throws;
/// unavailable when no thread can be started.
void run_with_pools(const std::function<void()>& call);

/// By the thread that forks, before and in the child.
void look_for_threads() noexcept;
void remember_fork() noexcept;

}  // namespace attune
