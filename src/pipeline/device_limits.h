// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "core/device_info.h"
#include "ops/counted_work.h"

namespace attune {

/// The highest rates of a device, which bound the times of rows.
struct DeviceLimits {
  DeviceInfo device;  ///< Peak rates and bandwidth; the size of its cache, if its times are of cached operands.
  /// Share of these rates that bounds a time. 1: the rates are from a data sheet, which no kernel exceeds. Less: the
  /// bandwidth was measured.
  double share = 1;
  /// Whether `device` is the whole description, from which solvers state their configs.
  bool is_described = false;
};

/// The GPUs of the older tuners' tables, from AMD's data sheets (Instinct MI300X, MI325X, MI308X, MI355X).
std::vector<DeviceLimits> data_sheet_limits();
/// The limits of a device as this program describes it.
DeviceLimits limits_of(DeviceInfo device);
/// The limits of `described` devices, of this machine's devices, and of data sheets, in this order: descriptions know
/// more. Asks the drivers of GPUs.
std::vector<DeviceLimits> known_limits(std::vector<DeviceInfo> described);

/// Null for a device that is not among them; the first of those with the same architecture and number of units.
const DeviceLimits* find_limits(std::span<const DeviceLimits> all, std::string_view gfx, int64_t num_units) noexcept;

/// A time in µs that no right kernel can beat; 0 if the limits tell nothing. Bytes that fit into the cache are free.
struct RooflineBound {
  double us = 0;
  bool is_memory = false;  ///< Whether the bytes bound it, and not the arithmetic.
};
RooflineBound roofline_bound(const CountedWork& work, const DeviceLimits& limits);

}  // namespace attune
