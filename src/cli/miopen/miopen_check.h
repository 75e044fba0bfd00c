// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "device/devices.h"

namespace attune {

/// `attune check` of a file that MIOpen reads: lists its defects. A device is opened only for a perf-db with rows of
/// solvers of this program, whose candidates are compared if the file's name states the device. Returns 1 if there are
/// any defects.
int run_miopen_check(const std::string& file, const DeviceChoice& devices, bool json);

}  // namespace attune
