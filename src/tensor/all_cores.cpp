// SPDX-License-Identifier: MIT
#include "tensor/all_cores.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <semaphore>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace attune {
namespace {

thread_local int64_t max_threads = std::numeric_limits<int64_t>::max();

int64_t threads_for(int64_t count) {
  const auto cores = std::min<int64_t>(std::thread::hardware_concurrency(), max_threads);
  return std::clamp<int64_t>(cores, 1, std::max<int64_t>(count, 1));
}

/// Runs work on a thread of its own, or here if the system refuses one.
template <typename Work>
void on_another_thread(std::vector<std::jthread>& threads, Work work) {
  try {
    threads.emplace_back(work);
  } catch (const std::system_error&) {
    work();
  }
}

}  // namespace

void over_all_cores(int64_t count, const std::function<void(int64_t begin, int64_t end)>& work) {
  const int64_t threads = threads_for(count);
  std::vector<std::jthread> others;
  for (int64_t i = 1; i < threads; ++i)
    on_another_thread(others, [&, i] { work(count * i / threads, count * (i + 1) / threads); });
  work(0, count / threads);
}

bool over_all_cores(int64_t count, int64_t at_once, const std::function<void(int64_t begin, int64_t end)>& work,
                    const std::function<bool()>& is_stopped) {
  const int64_t threads = threads_for(count);
  const int64_t part = std::clamp<int64_t>((count + threads - 1) / threads, 1, at_once);
  std::atomic<int64_t> next = 0, num_working = threads;
  std::atomic<bool> stop = false;
  std::binary_semaphore is_over(0);
  const auto take_parts = [&] {
    while (!stop) {
      const int64_t begin = next.fetch_add(part);
      if (begin >= count) break;
      work(begin, std::min(count, begin + part));
    }
    if (--num_working == 0) is_over.release();
  };
  std::vector<std::jthread> others;
  for (int64_t i = 0; i < threads; ++i) on_another_thread(others, take_parts);
  while (!is_over.try_acquire_for(std::chrono::milliseconds(100))) stop = stop || is_stopped();
  return next >= count;
}

LimitedCores::LimitedCores(int64_t max) noexcept : before_(std::exchange(max_threads, max)) {}
LimitedCores::~LimitedCores() { max_threads = before_; }

}  // namespace attune
