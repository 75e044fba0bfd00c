// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include "store/fleet/job_queue.h"
#include "store/fleet/store_address.h"

namespace attune {

/// The queue of a store that is there. It has a connection of its own.
std::unique_ptr<JobQueue> open_sql_job_queue(const StoreAddress& address, int max_wait_ms);

}  // namespace attune
