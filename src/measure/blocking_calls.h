// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

#include "measure/executor.h"

namespace attune {

/// Called by a blocking call before it looks for the answer, and then at least once a second while a worker does the
/// request; true: abort the request, which is then answered as cancelled. Must not throw.
using Tick = std::function<bool()>;

/// Do one request on an executor and wait for its answer. Requires: none is outstanding. Throw what Executor::begin()
/// and take() throw.
Opened open(Executor& executor, request::Open request, const Tick& tick = {});
Admitted admit(Executor& executor, request::Admit request, const Tick& tick = {});
Sampled sample(Executor& executor, request::Sample request, const Tick& tick = {});
Recycled recycle(Executor& executor, const Tick& tick = {});

}  // namespace attune
