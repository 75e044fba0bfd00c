// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace attune {

/// What the time of a worker goes to, each moment to one of them. The worker waits in the first five.
enum class Activity : uint8_t {
  wait,        ///< For the next order: the tuner decides, and writes its journal.
  pause,       ///< All problems wait until samples that confirm may be taken.
  compile,     ///< For kernels that compilers make.
  turn,        ///< For the other executors of its device, which sample, or have to end what they do before it samples.
  start,       ///< A worker process starts and opens its device.
  list,        ///< Libraries are opened, and asked what they have for a problem.
  fill,        ///< Operands are allocated and written.
  upload,      ///< Operands are copied to the device.
  reference,   ///< The right results are computed.
  spot_check,  ///< Elements of them are computed again, on the naive path of the host.
  load,        ///< A candidate is prepared: kernels loaded, weights packed, workspace allocated; its first launch.
  verify,      ///< Other launches of a candidate, and the comparison of what they wrote.
  recheck,     ///< Candidates that were timed are verified again, where they were timed.
  first_run,   ///< The launches that show how long a batch must be.
  guard,       ///< What all candidates share is hashed.
  bandwidth,   ///< The device's bandwidth is measured, for the fastest time that can be right.
  sample,      ///< Turns: untimed launches, the clock, the timed batch.
  release,     ///< Problems are closed, candidates freed.
};
inline constexpr size_t kNumActivities = 18;
std::string_view name(Activity activity) noexcept;
/// For people: `starting workers`.
std::string_view description(Activity activity) noexcept;

/// Seconds on a clock, by activity, and those of them in which the device was busy: it ran launches of candidates, or,
/// where it has memory of its own, kernels of ours. A host is not busy with what the process itself computes.
struct TimeUse {
  struct Share {
    double wall_s = 0, busy_s = 0;
    bool operator==(const Share&) const = default;
  };
  std::array<Share, kNumActivities> shares{};

  Share& operator[](Activity activity) noexcept { return shares[static_cast<size_t>(activity)]; }
  const Share& operator[](Activity activity) const noexcept { return shares[static_cast<size_t>(activity)]; }
  double wall_s() const noexcept;
  double busy_s() const noexcept;
  /// Says of so much of the waiting what the tuner did in it, at most all of it. Returns of how much.
  double take_from_wait(Activity activity, double seconds) noexcept;
  TimeUse& operator+=(const TimeUse& other) noexcept;
  TimeUse& operator-=(const TimeUse& other) noexcept;
  bool operator==(const TimeUse&) const = default;
};

}  // namespace attune
