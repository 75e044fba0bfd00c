// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>

#include "core/outcome.h"
#include "device/device.h"
#include "measure/verification.h"

namespace attune {

/// What a candidate was doing when it failed; decides the Status an exception stands for.
enum class Step : uint8_t { prepare, memory, run };

/// Does one step of a candidate and makes the Outcome: of what it found, or of what it threw. The one place where
/// exceptions become outcomes; foreign ones included. A device that is not healthy afterwards is `device_lost`.
///   prepare: unavailable → unsupported, device → launch_failed, any other → load_failed
///   memory:  any → out_of_memory          run: any → launch_failed
///   always:  timeout → timed_out, std::bad_alloc → out_of_memory
Outcome evaluate(Device& device, Step step, const std::function<Finding()>& work);

}  // namespace attune
