// SPDX-License-Identifier: MIT
#pragma once
#include "measure/executor.h"

namespace attune {

/// Do one request on an executor and wait for its answer. Requires: none is outstanding. `tick` is called before each
/// look for the answer, and then at least once a second while a worker does the request or a fresh one starts for it;
/// an aborted request is answered as cancelled. Throw what Executor::begin() and take() throw.
OpenAnswer open(Executor& executor, request::Open request, const Tick& tick = {});
AdmitAnswer admit(Executor& executor, request::Admit request, const Tick& tick = {});
SampleAnswer sample(Executor& executor, request::Sample request, const Tick& tick = {});
RecycleAnswer recycle(Executor& executor, const Tick& tick = {});

}  // namespace attune
