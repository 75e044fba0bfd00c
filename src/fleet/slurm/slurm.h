// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/slurm/squeue.h"

namespace attune {

/// Slurm's commands, run directly, with this process's environment. All throw invalid_input, naming the package, if
/// Slurm is not installed, and device with Slurm's last line if it refuses or does not answer for a minute.
/// Thread-safe.

/// Submits a batch script with sbatch; returns the job's number.
int64_t submit_batch(const std::string& script);
/// The jobs with a comment. Slurm sends the whole cluster's queue, 4 KB a job; the limit is 256 MiB.
std::vector<SlurmJob> slurm_jobs(std::string_view comment);
/// Asks the agents of running jobs to end, with TERM, and cancels jobs that have not started.
void drain_jobs(const std::vector<SlurmJob>& jobs);

}  // namespace attune
