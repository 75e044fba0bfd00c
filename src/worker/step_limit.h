// SPDX-License-Identifier: MIT
#pragma once
#include "attune/problem.h"
#include "core/device_info.h"
#include "core/record.h"
#include "core/turn.h"

namespace attune {

/// Time allowed to a worker for a step of a problem that runs no candidate: filling operands, computing a reference,
/// comparing an output. Ten seconds, plus eight times the duration of its arithmetic and memory traffic on the slowest
/// host tested; a stopped worker is noticed after that. Requires: a normalised problem of this build's ops.
Milliseconds step_limit(const Problem& problem, const Protocol& protocol, const DeviceInfo& device);

}  // namespace attune
