// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "core/device_info.h"
#include "ops/counted_work.h"

namespace attune {

/// What a device can do at most, against which the times of rows are held.
struct DeviceLimits {
  DeviceInfo device;  ///< Peak rates, bandwidth and, if its times are those of cached operands, the size of its cache.
  /// Share of these rates that bounds a time. 1: they are of a data sheet, which no kernel exceeds. Less: the bandwidth
  /// was measured.
  double share = 1;
  /// Whether `device` is the whole description, from which solvers state their configs.
  bool is_described = false;
};

/// The GPUs of the older tuners' tables, from AMD's data sheets (Instinct MI300X, MI325X, MI308X, MI355X).
std::vector<DeviceLimits> data_sheet_limits();
/// The limits of a device as this program describes it.
DeviceLimits limits_of(DeviceInfo device);
/// The limits of `described` devices, of those of this machine, and of data sheets, in this order: of a described one
/// more is known. Asks the drivers of GPUs for theirs.
std::vector<DeviceLimits> known_limits(std::vector<DeviceInfo> described);

/// Null for a device that is not among them; the first of those with the same architecture and number of units.
const DeviceLimits* find_limits(std::span<const DeviceLimits> all, std::string_view gfx, int64_t num_units) noexcept;

/// A time in µs that no right kernel is below; 0 if the limits tell nothing. Bytes that fit into the cache are free.
struct RooflineBound {
  double us = 0;
  bool is_memory = false;  ///< Whether the bytes bound it, and not the arithmetic.
};
RooflineBound roofline_bound(const CountedWork& work, const DeviceLimits& limits);

}  // namespace attune
