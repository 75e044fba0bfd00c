// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "device/devices.h"

namespace CLI {
class App;
}

namespace attune {

/// Adds --devices and --threads. `help`: text of --devices.
void add_device_flags(CLI::App& verb, DeviceChoice& devices, const std::string& help = "cpu:0 (default) or fake:0");

/// Checks ATTUNE_THREADS. Throws invalid_input if it is no number of threads.
void check_thread_variable();

}  // namespace attune
