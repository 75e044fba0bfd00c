// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <thread>

namespace attune {

/// Whether a condition holds within five seconds; asks every millisecond.
template <typename Condition>
bool becomes_true(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace attune
