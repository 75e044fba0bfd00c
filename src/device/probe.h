// SPDX-License-Identifier: MIT
#pragma once
#include "device/device.h"

namespace attune {

/// Checks that a device works: its memory returns the data written to it. Throws device if not. About 10 µs on a host.
void probe(Device& device);

}  // namespace attune
