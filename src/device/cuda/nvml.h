// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/clock_state.h"

namespace attune {

/// Limits that keep the clock of a GPU low, by the bits of nvmlDeviceGetCurrentClocksEventReasons. Clocks set on
/// purpose count, because times differ by them; idleness does not.
std::vector<std::string> clock_limits(uint64_t bits);

/// Asks NVML, the library of nvidia-smi. The first call opens the library, and the process keeps it. Needs no context.
/// About 50 µs after the first call. Any thread. Requires: an id of list_cuda_devices().
ClockState cuda_clock_state(std::string_view id);

/// Describes the users of a GPU as a clause, empty if idle. `num_processes`: known processes that compute on it. A
/// container does not see processes of others, but it sees their memory.
std::string gpu_use(uint32_t num_processes, uint64_t used_bytes);
/// Asks NVML for the users of a GPU, like DeviceKind::use_of. A process with a context counts; it takes 200 MiB and
/// more.
std::string cuda_use(std::string_view id);
/// Asks NVML for the free memory of a GPU, like DeviceKind::free_bytes.
uint64_t cuda_free_bytes(std::string_view id);

}  // namespace attune
