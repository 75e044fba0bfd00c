// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>

namespace attune {

/// The best rate in GB/s (10^9 bytes) at which one thread a core reads a working set of this size together, each its
/// own part, again and again; by the processor time of the threads, so other processes hardly lower it. About 150 ms
/// for 256 MB; the threads have ended when it returns. Throws Error{device} without memory.
double measure_read_bandwidth_gbs(uint64_t working_set_bytes, std::span<const int> cores);

}  // namespace attune
