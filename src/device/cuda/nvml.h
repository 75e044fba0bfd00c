// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/clock_state.h"

namespace attune {

/// What keeps the clock of a GPU low, by the bits of nvmlDeviceGetCurrentClocksEventReasons. Clocks that somebody has
/// set on purpose count, too, because times differ by them; that nothing runs does not.
std::vector<std::string> clock_limits(uint64_t bits);

/// Asks NVML, the library of nvidia-smi, which is opened at the first call and kept. Needs no context. About 50 µs
/// after the first call. Any thread. Requires: an id of list_cuda_devices().
ClockState cuda_clock_state(std::string_view id);

/// Who uses a GPU: a clause, empty for nobody. `num_processes` that compute on it, as far as they are told; a container
/// does not see those of others, but the memory that they hold.
std::string gpu_use(uint32_t num_processes, uint64_t used_bytes);
/// Asks NVML who uses a GPU, like DeviceKind::use_of. A process that has a context on it does, with 200 MiB and more.
std::string cuda_use(std::string_view id);

}  // namespace attune
