// SPDX-License-Identifier: MIT
#pragma once
#include "attune/problem.h"
#include "core/device_info.h"
#include "core/record.h"
#include "core/turn.h"

namespace attune {

/// How long a worker may take for a step of a problem that is no candidate's: filling its operands, computing a
/// reference, comparing an output. Ten seconds, and eight times what its arithmetic and its memory took on the slowest
/// host seen: a worker that was stopped is noticed after that. Normalised problems of this build's ops only.
Milliseconds step_limit(const Problem& problem, const Protocol& protocol, const DeviceInfo& device);

}  // namespace attune
