// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "store/fleet/fleet_job.h"

namespace attune {

/// What all arrays of a submission have in common.
struct SlurmSubmission {
  int64_t session = 0;
  std::string mark;  ///< slurm_mark(): the comment of its jobs.
  double time_s = 0;
  std::string partition, account;  ///< Empty: Slurm's default.
  std::string logs;                ///< Folder of the agents' output; empty: the folder of submission.
  std::filesystem::path program;   ///< Absolute.
  std::vector<std::string> flags;  ///< More words for `attune fleet run`.
};

/// Agents of one kind: a job array in Slurm.
struct AgentArray {
  std::string_view kind;  ///< `compile` or `eval`, a part of the job's name.
  std::vector<FleetStep> steps;
  int64_t num_agents = 1;
  int64_t num_cores = 1;  ///< Of each agent.
  bool has_gpu = false;   ///< An agent gets one GPU.
  bool is_alone = false;  ///< No other job shares an agent's node, because it would disturb measurements.
};

/// The batch script of an array. Its shell is replaced by the agent, so that Slurm's signals reach the agent: TERM two
/// minutes before the time limit. It contains no password: agents read ATTUNE_STORE and the password's source from the
/// environment of submission. Throws invalid_input for a time below five minutes, for names that Slurm would read
/// otherwise (blanks, quotes, `%`), and for control characters.
std::string batch_script(const SlurmSubmission& submission, const AgentArray& array);

/// The comment that marks the jobs of a store's session: `attune:1f0c66d2:7`. `store`:
/// StoreAddress::shown().
std::string slurm_mark(std::string_view store, int64_t session);

}  // namespace attune
