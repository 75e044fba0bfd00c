// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>

#include "attune/plan.h"
#include "core/outcome.h"
#include "core/turn.h"
#include "device/device.h"

namespace attune {

/// Minimum length of a sample on this device in µs, so that reading its clock (20 ns on a host) and one interrupt do
/// not matter: the fact `least_sample_us`, or 200.
double least_sample_us(const DeviceInfo& device);

/// Number of launches that make a sample of `least_us` when one takes `first_us` (> 0); at most 4096.
uint32_t batch_for(double first_us, double least_us) noexcept;

/// Number of untimed launches before a batch: an eighth of the batch, at least 1 and at most 16. They bring the
/// candidate's threads and code back after another candidate's turn. By graph, a launch that is a sample of its own
/// needs none: it lasts so long that an untimed one saves at most 0.3 % of it (docs/performance/gpu_samples.md, Untimed
/// launches).
uint32_t untimed_for(uint32_t launches, Timing timing) noexcept;

/// The device rests before a sample while its clock is below this share of the usual one.
inline constexpr double kLeastClock = 0.75;

/// Whether a sample is dirty: a thread that took part waited for its core for 2 % of the batch or more, or the clock
/// was below kLeastClock after all rests.
bool is_dirty(const Disturbance& disturbance, double clock) noexcept;

/// Throws Error{timeout} if more time than `limit` (0: none) has passed since `start`.
void check_limit(std::chrono::steady_clock::time_point start, Milliseconds limit);

/// Events of a stream before and after the timed launches.
inline constexpr uint32_t kTimedFrom = 0, kTimedTo = 1;

/// Runs the launches back to back and returns the mean time of one in µs, measured by these events of the stream.
/// Throws any exception of the plan.
double time_launches(Stream& stream, const Plan& plan, std::span<const Launch> launches);

/// Captures the launches between these events in a graph of the stream; see Stream::end_capture() for `former`. Null if
/// they cannot be captured, because the plan allocates, waits, or throws. None of them has run.
std::unique_ptr<Graph> capture_launches(Stream& stream, const Plan& plan, std::span<const Launch> launches,
                                        std::unique_ptr<Graph> former);

}  // namespace attune
