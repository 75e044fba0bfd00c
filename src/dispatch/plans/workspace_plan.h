// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include "attune/plan.h"
#include "device/device_memory.h"

namespace attune {

/// Wraps a plan that needs a workspace so that it needs none from its caller: it has one in the device's memory for
/// each stream that it is run on, so launches on two streams do not disturb each other. One is reserved now, for the
/// first stream; others are allocated when a stream comes first. Each run costs a lock besides. The memory must outlive
/// the plan. Throws device without memory.
std::unique_ptr<Plan> workspace_plan(std::unique_ptr<Plan> plan, DeviceMemory& memory);

}  // namespace attune
