// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

/// A job of Slurm's queue: one task of an array, or all tasks that were not started yet.
struct SlurmJob {
  int64_t id = 0;               ///< Of the array, for scancel; of the job without one.
  std::optional<int64_t> task;  ///< Number in the array.
  std::string waiting_tasks;    ///< `2-200`: tasks that were not started; empty: see `task`.
  std::string name, user;
  std::string state, reason;  ///< `RUNNING`, `PENDING`, …; why it waits.
  std::string node;
  int64_t num_restarts = 0;
  bool is_running() const noexcept { return state == "RUNNING"; }
  bool is_waiting() const noexcept { return state == "PENDING"; }
  /// Slurm lists a job that has ended for some minutes.
  bool has_ended_well() const noexcept { return state == "COMPLETED" || state == "CANCELLED"; }
  /// `12_3`, as scancel reads it.
  std::string shown_id() const;
};

/// The jobs with a comment in what `squeue --json` prints: Slurm 22.05 and newer (numbers as objects, states as lists).
/// Other members are skipped as they are read. Throws invalid_input for a text that is no list of jobs. Members of a
/// wrong type count as absent.
std::vector<SlurmJob> parse_squeue(std::string_view text, std::string_view comment);

}  // namespace attune
