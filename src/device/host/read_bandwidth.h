// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>

namespace attune {

/// The highest rate in GB/s (10^9 bytes) at which one thread per core repeatedly reads its part of a working set of
/// this size. Uses the threads' processor time, so other processes hardly lower the rate. Takes about 150 ms for 256
/// MB; the threads have ended on return. Throws device without memory.
double measure_read_bandwidth_gbs(uint64_t working_set_bytes, std::span<const int> cores);

/// Returns the number of passes after a part that took `took_us` for `passes`: more if the part was too short for the
/// cost of a clock, which under some hypervisors is microseconds. A rate of short parts is too low, and right kernels
/// would be judged implausible. At most 64 times as many.
uint64_t passes_after(uint64_t passes, double took_us) noexcept;

}  // namespace attune
