// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>

namespace attune {

/// Calls work(begin, end) for parts of [0, count), one thread per processor of the machine, and returns when all are
/// done; the calling thread does the work of threads that the system refuses. For programs that own the machine while
/// they verify; in an application under a LimitedCores. `work` must not throw.
void over_all_cores(int64_t count, const std::function<void(int64_t begin, int64_t end)>& work);
/// The same on other threads, in parts of up to `at_once`, for work of seconds: asks `is_stopped` ten times a second
/// meanwhile, on the calling thread, and begins no part any more once it returns true. Returns whether all was done.
bool over_all_cores(int64_t count, int64_t at_once, const std::function<void(int64_t begin, int64_t end)>& work,
                    const std::function<bool()>& is_stopped);

/// While one lives, over_all_cores() of this thread uses at most `max` threads.
class LimitedCores {
 public:
  explicit LimitedCores(int64_t max) noexcept;
  ~LimitedCores();
  LimitedCores(const LimitedCores&) = delete;
  LimitedCores& operator=(const LimitedCores&) = delete;

 private:
  int64_t before_;
};

}  // namespace attune
