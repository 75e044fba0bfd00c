// SPDX-License-Identifier: MIT
#pragma once
#include "device/device.h"

namespace attune {

/// Checks that a device works: what is written to its memory can be read there again. Throws device if not. About 10 µs
/// on a host.
void probe(Device& device);

}  // namespace attune
