// SPDX-License-Identifier: MIT
#include "cli/flags/run_flags.h"

#include <CLI/CLI.hpp>

#include "cli/flags/arguments.h"
#include "cli/flags/value_checks.h"
#include "core/turn.h"
#include "search/strategy/strategy.h"

namespace attune {

Limits RunOptions::limits() const noexcept {
  return {.load = milliseconds_of(load_deadline_s), .run = milliseconds_of(run_deadline_s)};
}

void add_run_flags(CLI::App& command, RunOptions& options, const std::string& device_help) {
  add_device_flags(command, options.devices, device_help);
  command.add_option("--journal", options.journal,
                     "Journal that records the run; default: the one that `attune paths` shows, if it exists");
  add_inputs_flag(command, options.inputs);
  add_quiet_wait_flag(command, options.quiet_wait_s);
  command
      .add_option("--run-deadline", options.run_deadline_s,
                  "Seconds that a launch may take; default: 60, or that of the kind of device if it is longer")
      ->check(amounts(0.01, 1e6));
  command
      .add_option("--load-deadline", options.load_deadline_s,
                  "Seconds that preparing a kernel may take; default: that of the kind of device, 60 on a host")
      ->check(amounts(0.01, 1e6));
}

void add_rule_flags(CLI::App& command, std::string& rules, std::vector<std::string>& where) {
  command
      .add_option("--rules", rules,
                  "Rules that choose the configs to try of solvers with several sets: attune, and for triton.gemm also "
                  "tune_gemm and tune_gemm_v2, those of Triton's tuning script")
      ->capture_default_str();
  command
      .add_option("--where", where,
                  "A rule of your own for one solver's configs: \"triton.gemm: BLOCK_SIZE_M <= 128\". It may read the "
                  "solver's parameters, problem.m and device.num_units; repeat the flag for further rules")
      ->type_name("RULE");
}

void add_max_trials_flag(CLI::App& command, uint64_t& max_trials, const std::string& help) {
  command.add_option("--max-trials", max_trials, help)
      ->capture_default_str()
      ->transform([](const std::string& text) { return text == "all" ? std::to_string(kAllTrials) : text; })
      ->check(trials_error);
}

void add_isolation_flag(CLI::App& command, std::string& isolation) {
  command
      .add_option("--isolation", isolation,
                  "process: candidates run in a worker process; none: in this process, which ends with the first crash")
      ->capture_default_str()
      ->check(one_of({"process", "none"}));
}

}  // namespace attune
