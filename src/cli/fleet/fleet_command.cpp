// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/device_flags.h"
#include "cli/flags/run_flags.h"
#include "cli/flags/value_checks.h"
#include "cli/fleet/slurm_commands.h"
#include "cli/fleet/store_commands.h"
#include "fleet/agent/fleet_run.h"

namespace attune {
namespace {

struct FleetRunFlags {
  FleetRunOptions run;
  std::vector<std::string> steps;
};

int run_agent(const FleetRunFlags& flags) {
  FleetRunOptions options = flags.run;
  options.steps = steps_option(flags.steps, "--steps");
  return run_fleet(options);
}

void add_run_command(CLI::App& fleet, Action& chosen) {
  auto flags = std::make_shared<FleetRunFlags>();
  TuneOptions& tune = flags->run.tune;
  auto* run = fleet.add_subcommand("run", "Work on the jobs of a session until none is left");
  run->add_option("--session", flags->run.session, "Session whose jobs to work on")
      ->required()
      ->check(positive_number_error);
  run->add_option("--steps", flags->steps,
                  "Steps, such as perf_compile,perf_eval; compile steps use no device and run first; default: all that "
                  "the session has jobs of");
  add_device_flags(*run, tune.devices, "Devices, such as cuda:0,cuda:1; default: the session's, of GPUs all");
  run->add_option("--budget", tune.budget,
                  "Time limit of the run, such as 10m or 2h, shared out among the searches; the next run goes on");
  run->add_option("--timeout", tune.timeout, "Time limit for one job; a job that takes longer waits for the next run");
  add_max_trials_flag(*run, tune.max_trials, "Number of candidates to try per solver, or all");
  run->add_option("--workers", tune.workers, "Number of worker processes of each device; 0: the default of its kind")
      ->capture_default_str()
      ->check(natural_number_error);
  add_quiet_wait_flag(*run, tune.quiet_wait_s);
  run->add_option("--patience", flags->run.patience, "How long to wait for a store that does not answer")
      ->capture_default_str();
  run->add_option("--wait", flags->run.wait,
                  "How long to wait for jobs that agents of other steps must end first, such as 30m; default: not");
  run->add_option("--journal", tune.journal, "Journal file of this machine; default: see `attune paths`");
  run->add_option("--cache", tune.kernels.cache, "Folder of compiled kernels; default: see `attune paths`");
  run->add_option("--jobs", tune.kernels.jobs, "Number of compilers to run in parallel; default: one per core")
      ->check(whole_numbers(0, 1024));
  add_cache_size_flag(*run, tune.kernels.max_cache_bytes);
  add_isolation_flag(*run, tune.isolation);
  add_json_flag(*run, tune.json);
  run->footer(
      "Exit status: 0 no job of the steps is left; 1 some are; 3 the store was away for longer than --patience; 4 "
      "this environment is not the session's; 5 the device is lost.\n"
      "Examples:\n"
      "  attune fleet run --session 1\n"
      "  attune fleet run --session 1 --steps find_compile,find_eval --devices cpu:0 --budget 30m");
  run->callback([flags, &chosen] { chosen = [flags] { return run_agent(*flags); }; });
}

void add_fleet_flags(CLI::App& command, Action& chosen) {
  command.require_subcommand(1);
  add_run_command(command, chosen);
  add_slurm_commands(command, chosen);
}

}  // namespace

Command fleet_command() {
  return {CommandGroup::tune, "fleet", "Work on the jobs of a tuning session, here or under Slurm", add_fleet_flags};
}

}  // namespace attune
