// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cli/flags/device_flags.h"
#include "core/record.h"
#include "device/devices.h"
#include "measure/executor.h"

namespace CLI {
class App;
}

namespace attune {

/// Options of a run that verifies or times given kernels, as `bench` and `check` do.
struct RunOptions {
  DeviceChoice devices;
  std::string journal;  ///< Journal that records the run; empty: the user's, if it exists.
  std::string inputs = "served";
  double quiet_wait_s = 0;
  double load_deadline_s = 0, run_deadline_s = 0;  ///< 0: those of the device's kind.

  /// Throws invalid_input for a text that the flag refuses.
  CachePolicy cache_policy() const { return parse_cache_policy(inputs); }
  Limits limits() const noexcept;  ///< For limits_on().
};

/// Adds a flag for each option: --devices, --threads, --journal, --inputs, --quiet-wait, --run-deadline and
/// --load-deadline. `device_help`: text of --devices.
void add_run_flags(CLI::App& command, RunOptions& options, const std::string& device_help = kOneDeviceHelp);

/// Adds --rules and --where, which parse_rule_choice() parses.
void add_rule_flags(CLI::App& command, std::string& rules, std::vector<std::string>& where);

/// Adds `--max-trials`, a number or `all`, which is kAllTrials.
void add_max_trials_flag(CLI::App& command, uint64_t& max_trials, const std::string& help);

/// Adds `--isolation`, which isolation_option() parses.
void add_isolation_flag(CLI::App& command, std::string& isolation);

}  // namespace attune
