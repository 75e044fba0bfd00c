// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <memory>

#include "store/fleet/job_queue.h"

namespace attune {

/// The queue of a store that is there. It has a connection of its own.
std::unique_ptr<JobQueue> open_sql_job_queue(const std::filesystem::path& file, int max_wait_ms);

}  // namespace attune
