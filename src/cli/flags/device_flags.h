// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "device/devices.h"

namespace CLI {
class App;
}

namespace attune {

inline constexpr const char* kOneDeviceHelp = "Device, such as cpu:0; default: the first GPU, else cpu:0";
/// Adds --devices and --threads. `help`: text of --devices.
void add_device_flags(CLI::App& command, DeviceChoice& devices, const std::string& help = kOneDeviceHelp);

/// Adds --libraries-of, which acts when the command line is parsed. add_device_flags() has it.
void add_libraries_flag(CLI::App& command);

/// Adds --device-info, a file that describes a device which need not be here (docs/formats/device_info.md).
void add_device_info_flag(CLI::App& command, std::string& file);

/// Returns a device's units with their noun: `2 threads` of a host, `4 units` of another.
std::string units_text(const DeviceInfo& device);
/// Returns a device's key, for a host with the number of threads: `x86-64-v4/2 with 2 threads`.
std::string device_text(const DeviceInfo& device);

/// Checks ATTUNE_THREADS. Throws invalid_input if it is no number of threads.
void check_thread_variable();

}  // namespace attune
