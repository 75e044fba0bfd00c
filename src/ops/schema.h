// SPDX-License-Identifier: MIT
#pragma once
#include "attune/problem.h"
#include "core/device_info.h"
#include "ops/family.h"

namespace attune {

/// Checks a problem's attributes, fills in the defaults and orders them: the part of Op::normalise() that follows from
/// the family. `fp8` is the type of the device. Throws invalid_input, naming the attribute.
Problem normalised(const Problem& problem, const FamilySpec& family, const DeviceInfo& device);

}  // namespace attune
