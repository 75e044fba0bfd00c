// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

/// What can be asked of a job. starting: its nodes boot, and no agent runs. stopped: suspended, no signal reaches the
/// agent. ending: the agent has ended, and Slurm tidies up or queues the job again.
enum class SlurmPhase : uint8_t { unknown, waiting, starting, running, stopped, ending, ended };

/// A job of Slurm's queue: one task of an array, or all tasks that were not started yet.
struct SlurmJob {
  int64_t id = 0;               ///< Of the array, for scancel; of the job without one.
  std::optional<int64_t> task;  ///< Number in the array.
  std::string waiting_tasks;    ///< `2-200`: tasks that were not started; empty: see `task`.
  std::string name, user;
  std::string state, reason;  ///< `RUNNING`, `PENDING`, `RUNNING+CONFIGURING`, …; why it waits.
  std::string node;
  int64_t num_restarts = 0;
  SlurmPhase phase() const;
  /// Slurm lists a job that has ended for some minutes.
  bool has_ended_well() const noexcept { return state == "COMPLETED" || state == "CANCELLED"; }
  /// `12_3`, as scancel reads it.
  std::string shown_id() const;
};

/// The jobs with a comment in what `squeue --json` prints: Slurm 22.05 and newer (numbers as objects, states as lists).
/// Other members are skipped as they are read. Throws unavailable for a text that is no list of jobs. Members of a
/// wrong type count as absent.
std::vector<SlurmJob> parse_squeue(std::string_view text, std::string_view comment);

}  // namespace attune
