// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/slurm/squeue.h"

namespace attune {

/// Slurm's commands, run directly, with this process's environment. All throw unavailable: naming the package, if Slurm
/// is not installed; with Slurm's last line, if it refuses or does not answer for a minute. Thread-safe.

/// Submits a batch script with sbatch; returns the job's number.
int64_t submit_batch(const std::string& script);
/// The jobs with a comment. Slurm sends the whole cluster's queue, 4 KB a job; the limit is 256 MiB.
std::vector<SlurmJob> slurm_jobs(std::string_view comment);
/// Cancels a job, or all of an array.
void cancel_job(int64_t id);

struct DrainedJobs {
  size_t num_told = 0;         ///< Running agents that got TERM.
  size_t num_cancelled = 0;    ///< Jobs that had not started, or were suspended.
  std::vector<SlurmJob> jobs;  ///< Both, as they were found.
};
/// Drains the jobs with a comment. Running agents get TERM, each once. Jobs that have not started and suspended ones,
/// which no signal reaches, are cancelled. A job may start or be queued again in between: looks again until none is
/// left. No look begins later than five seconds after the first.
DrainedJobs drain_jobs(std::string_view comment);

}  // namespace attune
