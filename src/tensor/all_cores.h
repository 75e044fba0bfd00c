// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>

namespace attune {

/// Calls work(begin, end) for parts of [0, count), one thread per processor of the machine, and returns when all are
/// done. For programs that own the machine while they verify; an application's threads are its own. `work` must not
/// throw.
void over_all_cores(int64_t count, const std::function<void(int64_t begin, int64_t end)>& work);

}  // namespace attune
