// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>

#include "core/outcome.h"
#include "measure/verification.h"

namespace attune {

/// Step in which a candidate failed; decides the Status of an exception.
enum class Step : uint8_t { prepare, memory, run };

/// Runs one step of a candidate and returns its Outcome, made from the finding or from the exception. The only place
/// where exceptions, foreign ones included, become outcomes.
///   prepare: unavailable → unsupported, device → launch_failed, any other → load_failed
///   memory:  device → out_of_memory, others → load_failed          run: any → launch_failed
///   always:  timeout → timed_out, std::bad_alloc → out_of_memory
Outcome evaluate(Step step, const std::function<Finding()>& work);

}  // namespace attune
