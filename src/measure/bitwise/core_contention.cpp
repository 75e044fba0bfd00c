// SPDX-License-Identifier: MIT
#include "measure/bitwise/core_contention.h"

#include <chrono>
#include <system_error>

#include "base/error.h"
#include "base/random.h"

namespace attune {
namespace {

using ContentionClock = std::chrono::steady_clock;

std::chrono::microseconds random_time(Random& random) {
  constexpr uint64_t kMinUs = 20, kMaxUs = 200;
  return std::chrono::microseconds(kMinUs + random.below(kMaxUs - kMinUs));
}

void compete(const std::atomic<bool>& stopped, uint64_t seed) {
  Random random(seed);
  while (!stopped) {
    const auto end = ContentionClock::now() + random_time(random);
    while (ContentionClock::now() < end) continue;
    std::this_thread::sleep_for(random_time(random));
  }
}

}  // namespace

CoreContention::CoreContention(size_t num_threads, uint64_t seed) {
  try {
    for (size_t i = 0; i < num_threads; ++i)
      threads_.emplace_back([this, own_seed = seed + i] { compete(stopped_, own_seed); });
  } catch (const std::system_error& error) {
    stop();
    fail(ErrorCode::device, "cannot start the threads that disturb a candidate: {}", error.what());
  }
}

CoreContention::~CoreContention() { stop(); }

void CoreContention::stop() noexcept {
  stopped_ = true;
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace attune
