// SPDX-License-Identifier: MIT
#include "tensor/all_cores.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace attune {

void over_all_cores(int64_t count, const std::function<void(int64_t begin, int64_t end)>& work) {
  const int64_t threads = std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, std::max<int64_t>(count, 1));
  std::vector<std::jthread> others;
  for (int64_t i = 1; i < threads; ++i) others.emplace_back(work, count * i / threads, count * (i + 1) / threads);
  work(0, count / threads);
}

}  // namespace attune
