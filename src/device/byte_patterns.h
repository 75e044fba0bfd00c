// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <span>

#include "device/buffer.h"

namespace attune {

/// DeviceMemory::fill() and scan() for memory that the processor can read.
void fill_pattern(std::span<std::byte> area, Pattern pattern) noexcept;
PatternScan scan_pattern(std::span<const std::byte> area, Pattern pattern) noexcept;

}  // namespace attune
