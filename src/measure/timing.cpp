// SPDX-License-Identifier: MIT
#include "measure/timing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace attune {
namespace {

constexpr double kMaxLaunches = 4096;
constexpr double kDirtyDelay = 0.02;  // run-queue delay, as a fraction of the batch

}  // namespace

double least_sample_us(const DeviceInfo& device) {
  const auto fact = device.facts.find("least_sample_us");
  return fact != device.facts.end() ? static_cast<double>(fact->second) : 200;
}

uint32_t batch_for(double first_us, double least_us) noexcept {
  return static_cast<uint32_t>(std::clamp(std::ceil(least_us / first_us), 1.0, kMaxLaunches));
}

uint32_t untimed_for(uint32_t launches, Timing timing) noexcept {
  return launches == 1 && timing == Timing::graph ? 0 : std::clamp(launches / 8, 1u, 16u);
}

bool is_dirty(const Disturbance& disturbance, double clock) noexcept {
  return disturbance.delay_ratio >= kDirtyDelay || clock < kLeastClock;
}

void check_limit(std::chrono::steady_clock::time_point start, Milliseconds limit) {
  if (limit.count() == 0) return;
  const double took_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (took_ms <= static_cast<double>(limit.count())) return;
  fail(ErrorCode::timeout, "the candidate ran longer than its deadline: {:.0f} ms, {} ms allowed", took_ms,
       limit.count());
}

double time_launches(Stream& stream, const Plan& plan, std::span<const Launch> launches) {
  stream.record(kTimedFrom);
  for (const Launch& launch : launches) plan.run(launch);
  stream.record(kTimedTo);
  stream.synchronize();
  return stream.elapsed_us(kTimedFrom, kTimedTo) / static_cast<double>(launches.size());
}

std::unique_ptr<Graph> capture_launches(Stream& stream, const Plan& plan, std::span<const Launch> launches,
                                        std::unique_ptr<Graph> former) {
  stream.begin_capture();
  try {
    stream.record(kTimedFrom);
    for (const Launch& launch : launches) plan.run(launch);
    stream.record(kTimedTo);
  } catch (...) {
    stream.end_capture(nullptr);
    return nullptr;
  }
  return stream.end_capture(std::move(former));
}

}  // namespace attune
