// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>

namespace attune {

/// The highest rate in GB/s (10^9 bytes) at which one thread per core repeatedly reads its part of a working set of
/// this size. The threads' processor time is used, so other processes hardly lower the rate. Takes about 150 ms for 256
/// MB; the threads have ended on return. Throws device without memory.
double measure_read_bandwidth_gbs(uint64_t working_set_bytes, std::span<const int> cores);

}  // namespace attune
