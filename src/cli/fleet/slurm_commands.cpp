// SPDX-License-Identifier: MIT
#include "cli/fleet/slurm_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "campaign/tune_method.h"
#include "cli/flags/arguments.h"
#include "cli/flags/value_checks.h"
#include "cli/fleet/session_status.h"
#include "cli/fleet/store_commands.h"
#include "device/device_kind.h"
#include "fleet/setup/session_device.h"
#include "fleet/slurm/batch_script.h"
#include "fleet/slurm/slurm.h"
#include "report/json_output.h"
#include "store/fleet/store_address.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

struct SubmitOptions {
  SlurmSubmission submission;
  std::vector<std::string> steps;
  std::string time;
  int64_t nodes = 1, gpus_per_node = 1, cores = 8;
  /// Flags of `fleet run`, passed on.
  std::string devices, budget, journal, cache, patience, max_trials, quiet_wait, wait = "30m";
  bool only_print = false, json = false;
};

/// The store that all nodes reach.
std::string shared_store() {
  const StoreAddress address = store_address("");
  if (!address.is_server())
    fail(
        ErrorCode::invalid_input,
        "agents on several nodes share a store on MariaDB or PostgreSQL, name one with ATTUNE_STORE; SQLite serves one "
        "machine: '{}'",
        address.shown());
  return address.shown();
}

/// The session's steps, if none were named.
std::vector<FleetStep> steps_to_submit(FleetStore& store, const SubmitOptions& options) {
  auto steps = steps_option(options.steps, "--steps");
  if (!steps.empty()) return steps;
  for (const JobGroup& group : store.job_groups(options.submission.session)) {
    // A contest is claimed under the name of its evaluation.
    const FleetStep step = group.step == FleetStep::perf_contest ? FleetStep::perf_eval : group.step;
    if (std::ranges::find(steps, step) == steps.end()) steps.push_back(step);
  }
  if (steps.empty())
    fail(ErrorCode::invalid_input,
         "session {0} has no jobs, load some first: attune jobs load --session {0} -t TAG --steps "
         "perf_compile,perf_eval "
         "-l REASON",
         options.submission.session);
  std::ranges::sort(steps);
  return steps;
}

/// An array of agents that compile, then one of agents that measure; without jobs for it neither.
std::vector<AgentArray> arrays_of(const SubmitOptions& options, const std::vector<FleetStep>& steps,
                                  const DeviceInfo& device) {
  AgentArray compile{.kind = "compile", .steps = {}, .num_agents = options.nodes, .num_cores = options.cores};
  AgentArray eval{.kind = "eval", .steps = {}, .num_agents = options.nodes, .num_cores = options.cores};
  for (const FleetStep step : steps) (compiles(step) ? compile : eval).steps.push_back(step);
  const DeviceKind& kind = device_kind(device.kind);
  if (kind.units_are_cores) {
    eval.num_cores = device.num_units;
    eval.is_alone = true;
  } else if (kind.numbers == DeviceNumbers::devices) {
    eval.has_gpu = true;
    eval.num_agents = options.nodes * options.gpus_per_node;
  }
  std::vector<AgentArray> arrays;
  for (AgentArray* one : {&compile, &eval}) {
    if (!one->steps.empty()) arrays.push_back(std::move(*one));
  }
  return arrays;
}

/// Words for `attune fleet run`.
std::vector<std::string> flags_for_agents(const SubmitOptions& options, const AgentArray& array) {
  std::vector<std::string> flags = {"--jobs", std::to_string(array.num_cores), "--wait", options.wait};
  // An agent that compiles opens a device only if one is named.
  const bool is_eval = std::ranges::none_of(array.steps, compiles);
  const std::string none, *const devices = is_eval ? &options.devices : &none;
  for (const auto& [flag, value] :
       {std::pair("--devices", devices), std::pair("--budget", &options.budget),
        std::pair("--journal", &options.journal), std::pair("--cache", &options.cache),
        std::pair("--patience", &options.patience), std::pair("--max-trials", &options.max_trials),
        std::pair("--quiet-wait", &options.quiet_wait)}) {
    if (value->empty()) continue;
    flags.emplace_back(flag);
    flags.push_back(*value);
  }
  return flags;
}

/// The file of this program, which the agents run.
std::filesystem::path own_program() {
  std::error_code error;
  auto file = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error || !std::filesystem::exists(file, error))
    fail(ErrorCode::invalid_input, "this program's file was moved or replaced, start it again: '{}'", file.string());
  return file;
}

/// Submits a script. If Slurm refuses it, the arrays of this submission that came before are cancelled: a repeated
/// command would submit them twice.
int64_t submit_or_cancel(const std::string& script, const std::vector<int64_t>& before) {
  try {
    return submit_batch(script);
  } catch (const Error& error) {
    if (before.empty()) throw;
    std::vector<std::string> cancelled, left;
    for (const int64_t id : before) {
      try {
        cancel_job(id);
        cancelled.push_back(std::to_string(id));
      } catch (const Error&) {
        left.push_back(std::to_string(id));
      }
    }
    std::string sentence = error.what();
    if (!cancelled.empty()) sentence += "; cancelled what was submitted before: job " + join(cancelled, ", ");
    if (!left.empty()) sentence += "; submitted before, cancel with scancel: job " + join(left, ", ");
    fail(error.code(), "{}", sentence);
  }
}

int submit_agents(const SubmitOptions& options) {
  SlurmSubmission submission = options.submission;
  submission.time_s = duration_option(options.time, "--time");
  for (const auto& [flag, value] : {std::pair("--wait", &options.wait), std::pair("--patience", &options.patience),
                                    std::pair("--budget", &options.budget)}) {
    if (!value->empty()) duration_option(*value, flag);
  }
  submission.mark = slurm_mark(shared_store(), submission.session);
  submission.program = own_program();
  const auto store = existing_fleet_store();
  const FleetSession session = store->session(submission.session);
  if (session.state != name(SessionState::open))
    fail(ErrorCode::invalid_input, "session {} is {}, begin another with attune session init", session.id,
         session.state);
  std::vector<std::string> scripts;
  const auto arrays = arrays_of(options, steps_to_submit(*store, options), device_of_session(session));
  for (const AgentArray& array : arrays) {
    submission.flags = flags_for_agents(options, array);
    scripts.push_back(batch_script(submission, array));
  }
  ordered_json submitted = ordered_json::array();
  std::vector<int64_t> ids;
  for (size_t i = 0; i < scripts.size(); ++i) {
    const AgentArray& array = arrays[i];
    ordered_json one = {{"kind", array.kind}, {"agents", array.num_agents}};
    if (options.only_print) {
      one["script"] = scripts[i];
      if (!options.json) std::fputs(scripts[i].c_str(), stdout);  // As sbatch gets it.
    } else {
      const int64_t id = submit_or_cancel(scripts[i], ids);
      ids.push_back(id);
      one["job"] = id;
      if (!options.json)
        print_line(stdout, fmt::format("job {}: {} for {}", id, counted(static_cast<size_t>(array.num_agents), "agent"),
                                       array.kind));
    }
    submitted.push_back(std::move(one));
  }
  if (options.json) print_json(submitted);
  return 0;
}

void add_submit_command(CLI::App& fleet, Action& chosen) {
  auto options = std::make_shared<SubmitOptions>();
  SlurmSubmission& submission = options->submission;
  auto* submit = fleet.add_subcommand("submit", "Submit agents to Slurm: one array that compiles, one that measures");
  submit->add_option("--session", submission.session, "Session whose jobs to work on")
      ->required()
      ->check(positive_number_error);
  submit->add_option("--steps", options->steps,
                     "Steps, such as perf_compile,perf_eval; default: all that it has jobs of");
  submit->add_option("--nodes", options->nodes, "Number of agents of each array; of GPUs: times --gpus-per-node")
      ->capture_default_str()
      ->check(whole_numbers(1, 10'000));
  submit->add_option("--gpus-per-node", options->gpus_per_node, "Number of agents that measure on each node")
      ->capture_default_str()
      ->check(whole_numbers(1, 64));
  submit->add_option("--cores", options->cores, "Cores of an agent, unless it measures on a CPU")
      ->capture_default_str()
      ->check(whole_numbers(1, 1024));
  submit->add_option("--time", options->time, "Time limit of each agent, such as 4h")->required();
  submit->add_option("--partition", submission.partition, "Slurm's partition");
  submit->add_option("--account", submission.account, "Slurm's account");
  submit->add_option("--logs", submission.logs, "Folder of the agents' output; default: the present folder");
  submit->add_flag("--print", options->only_print, "Print the batch scripts and submit nothing");
  const std::string as_run = "As of `attune fleet run`";
  submit->add_option("--devices", options->devices, as_run)->check(device_names_error);
  submit->add_option("--budget", options->budget, as_run);
  submit->add_option("--journal", options->journal, as_run + "; on a local disk of the node");
  submit->add_option("--cache", options->cache, as_run + "; shared by all nodes, each kernel is compiled once");
  submit->add_option("--patience", options->patience, as_run);
  submit->add_option("--max-trials", options->max_trials, as_run)->check(trials_error);
  submit->add_option("--quiet-wait", options->quiet_wait, as_run)->check(amount_error);
  submit->add_option("--wait", options->wait, as_run)->capture_default_str();
  add_json_flag(*submit, options->json);
  submit->footer(
      "The agents get this command's environment, with ATTUNE_STORE and the password's source.\n"
      "Examples:\n"
      "  attune fleet submit --session 1 --nodes 4 --time 4h --cache /shared/kernels\n"
      "  attune fleet submit --session 1 --steps perf_compile --nodes 2 --time 30m --print");
  submit->callback([options, &chosen] { chosen = [options] { return submit_agents(*options); }; });
}

constexpr size_t kMaxEvents = 20;

struct SlurmOptions {
  int64_t session = 0;
  bool json = false;
};

std::string mark_of_session(int64_t session) { return slurm_mark(store_address("").shown(), session); }

ordered_json json_of_jobs(const std::vector<SlurmJob>& jobs) {
  ordered_json all = ordered_json::array();
  for (const SlurmJob& job : jobs)
    all.push_back({{"job", job.shown_id()},
                   {"name", job.name},
                   {"state", job.state},
                   {"reason", job.reason},
                   {"node", job.node},
                   {"restarts", job.num_restarts}});
  return all;
}

/// The number of jobs that each agent holds.
std::map<std::string, size_t> held_jobs(FleetStore& store, int64_t session) {
  std::map<std::string, size_t> held;
  store.visit_jobs({.session = session, .tag = {}, .failure = {}, .state = JobState::leased},
                   [&](const JobRow& row) { ++held[row.agent]; });
  return held;
}

ordered_json json_of_events(const std::vector<FleetEvent>& events) {
  ordered_json all = ordered_json::array();
  for (const FleetEvent& one : events) all.push_back({{"at", one.at}, {"agent", one.agent}, {"why", one.text}});
  return all;
}

int show_fleet(const SlurmOptions& options) {
  const auto store = existing_fleet_store();
  const ordered_json progress = session_status_json(*store, options.session);
  const auto held = held_jobs(*store, options.session);
  const auto lost = store->events(options.session, "device_lost", kMaxEvents);
  std::vector<SlurmJob> jobs;
  std::string why_unknown;  // Slurm's jobs.
  try {
    jobs = slurm_jobs(mark_of_session(options.session));
    std::erase_if(jobs, [](const SlurmJob& job) { return job.has_ended_well(); });
  } catch (const Error& error) {
    why_unknown = error.what();
  }
  if (options.json) {
    ordered_json agents = ordered_json::object();
    for (const auto& [agent, count] : held) agents[agent] = count;
    print_json({{"session", progress},
                {"holding", agents},
                {"lost_devices", json_of_events(lost)},
                {"slurm_comment", mark_of_session(options.session)},
                {"slurm", why_unknown.empty() ? json_of_jobs(jobs) : ordered_json()}});
    return 0;
  }
  print_session_status(*store, options.session);
  for (const auto& [agent, count] : held)
    print_line(stdout, fmt::format("agent {} holds {}", shown(agent), counted(count, "job")));
  for (const FleetEvent& one : lost)
    print_line(stdout, fmt::format("{} agent {} lost its device: {}", one.at, shown(one.agent), shown(one.text, 400)));
  if (!why_unknown.empty())
    print_line(stderr, fmt::format("note: the agents under Slurm are not shown: {}", why_unknown));
  for (const SlurmJob& job : jobs) {
    std::string line = fmt::format("Slurm {} {} {}", job.shown_id(), shown(job.name), shown(job.state));
    if (!job.node.empty()) line += " on " + shown(job.node);
    if (!job.reason.empty()) line += fmt::format(" ({})", shown(job.reason));
    if (job.num_restarts > 0) line += fmt::format(", started again {}×", job.num_restarts);
    print_line(stdout, line);
  }
  if (why_unknown.empty() && jobs.empty()) print_line(stdout, "Slurm has no agents of the session");
  return 0;
}

int drain_fleet(const SlurmOptions& options) {
  existing_fleet_store()->session(options.session);  // Refuses one that is not there.
  const DrainedJobs drained = drain_jobs(mark_of_session(options.session));
  if (options.json)
    print_json(
        {{"ending", drained.num_told}, {"cancelled", drained.num_cancelled}, {"jobs", json_of_jobs(drained.jobs)}});
  else
    print_line(stdout, fmt::format("{} told to end, {} cancelled that did not run", counted(drained.num_told, "agent"),
                                   counted(drained.num_cancelled, "job")));
  return 0;
}

void add_session_command(CLI::App& fleet, Action& chosen, const std::string& name, const std::string& help,
                         int (*run)(const SlurmOptions&)) {
  auto options = std::make_shared<SlurmOptions>();
  auto* command = fleet.add_subcommand(name, help);
  command->add_option("--session", options->session, "The session")->required()->check(positive_number_error);
  add_json_flag(*command, options->json);
  command->callback([options, run, &chosen] { chosen = [options, run] { return run(*options); }; });
}

}  // namespace

void add_slurm_commands(CLI::App& fleet, Action& chosen) {
  add_submit_command(fleet, chosen);
  add_session_command(fleet, chosen, "status", "Show a session's progress, who holds jobs, and its agents under Slurm",
                      show_fleet);
  add_session_command(fleet, chosen, "drain",
                      "End a session's agents under Slurm: they finish or give back their jobs within 20 s",
                      drain_fleet);
}

}  // namespace attune
