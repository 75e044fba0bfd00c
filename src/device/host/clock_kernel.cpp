// SPDX-License-Identifier: MIT
#include "device/host/clock_kernel.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "core/statistics.h"

namespace attune {
namespace {

constexpr int kMultiplications = 12000;  // 9 … 12 µs at 4 … 3 GHz
constexpr double kCyclesEach = 3;

constexpr double kBlockUs = 1000;
constexpr size_t kAgreeingBlocks = 3, kLeastBlocks = 20, kMaxBlocks = 200;
constexpr double kAgreement = 1.01;

constexpr double kFaster = 1.02;  // a reading repeats within 1 %
constexpr int kFasterReadings = 8;

double run_chain_us() noexcept {
  const auto start = std::chrono::steady_clock::now();
  uint64_t value = 0x9e3779b97f4a7c15ULL;
  for (int i = 0; i < kMultiplications; ++i) {
#if defined(__x86_64__)
    // Newer cores fold chains of additions at rename, but not multiplications.
    asm volatile("imulq %0, %0" : "+r"(value));
#else
    value *= value;
    asm volatile("" : "+r"(value));
#endif
  }
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

bool agree(std::span<const double> blocks_us) {
  const auto [min, max] = std::minmax_element(blocks_us.begin(), blocks_us.end());
  return *max <= *min * kAgreement;
}

}  // namespace

ClockKernel::ClockKernel(std::function<double()> chain_us)
    : chain_us_(chain_us ? std::move(chain_us) : std::function<double()>(run_chain_us)) {}

double ClockKernel::read_us() {
  const double first = chain_us_();
  const double us = std::min(first, chain_us_());
  fastest_us_ = fastest_us_ > 0 ? std::min(fastest_us_, us) : us;
  return us;
}

void ClockKernel::calibrate() {
  if (usual_us_ > 0) return;
  std::vector<double> blocks_us, readings_us;
  double block_us = 0;
  while (blocks_us.size() < kMaxBlocks) {
    readings_us.push_back(read_us());
    block_us += 2 * readings_us.back();
    if (block_us < kBlockUs) continue;
    blocks_us.push_back(median(readings_us));
    readings_us.clear();
    block_us = 0;
    if (blocks_us.size() >= kLeastBlocks && agree(std::span(blocks_us).last(kAgreeingBlocks))) break;
  }
  blocks_us.erase(blocks_us.begin(), blocks_us.end() - kAgreeingBlocks);
  usual_us_ = median(blocks_us);
}

double ClockKernel::relative() {
  calibrate();
  const double us = read_us();
  if (us * kFaster >= usual_us_) {
    num_faster_ = 0;
    slowest_of_faster_us_ = 0;
  } else {
    slowest_of_faster_us_ = std::max(slowest_of_faster_us_, us);
    if (++num_faster_ == kFasterReadings) usual_us_ = slowest_of_faster_us_;
  }
  return usual_us_ / us;
}

double ClockKernel::highest_ghz() const noexcept {
  return fastest_us_ > 0 ? kMultiplications * kCyclesEach / (fastest_us_ * 1e3) : 0;
}

}  // namespace attune
