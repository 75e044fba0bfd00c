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

}  // namespace attune
