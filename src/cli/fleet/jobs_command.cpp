// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/value_checks.h"
#include "cli/fleet/store_commands.h"
#include "report/json_output.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

struct JobsOptions {
  JobLoad load;
  std::vector<std::string> steps;
  JobFilter filter;
  std::string state;
  bool all_configs = false, json = false;
};

/// Throws invalid_input for a name that is no class of failures.
void check_class(const std::string& text) {
  if (text.empty()) return;
  const auto status = parse_status(text);
  if (status && *status != Status::ok) return;
  fail(ErrorCode::invalid_input,
       "--class expects a class of failures, such as crashed, timed_out, wrong_result or unsupported; got '{}'",
       shown(text));
}

int load_jobs(const JobsOptions& options) {
  JobLoad load = options.load;
  load.steps = steps_option(options.steps, "--steps");
  if (load.tag.empty() && !options.all_configs)
    fail(ErrorCode::invalid_input, "name the configurations with -t TAG, or give --all-configs");
  if (!load.tag.empty() && options.all_configs)
    fail(ErrorCode::invalid_input, "-t chooses configurations and --all-configs takes all, give one of them");
  const auto store = existing_fleet_store();
  const size_t num_new = store->load_jobs(load);
  size_t num_all = 0;
  for (const JobGroup& group : store->job_groups(load.session)) num_all += group.count;
  if (options.json)
    print_json({{"session", load.session}, {"new", num_new}, {"jobs", num_all}});
  else
    print_line(stdout, fmt::format("{} loaded, session {} has {}", counted(num_new, "job"), load.session, num_all));
  return 0;
}

ordered_json json_of_job(const JobRow& row) {
  return {{"id", row.id},
          {"step", name(row.step)},
          {"state", name(row.state)},
          {"solver", row.solver},
          {"configuration", row.configuration},
          {"problem", row.problem},
          {"reason", row.reason},
          {"class", row.failure},
          {"detail", row.detail},
          {"attempts", row.attempts},
          {"agent", row.agent}};
}

int list_jobs(const JobsOptions& options) {
  JobFilter filter = options.filter;
  check_class(filter.failure);
  if (!options.state.empty()) filter.state = parse_job_state(options.state);
  const auto store = existing_fleet_store();
  store->session(filter.session);
  ordered_json list = ordered_json::array();
  size_t num_shown = 0;
  store->visit_jobs(filter, [&](const JobRow& row) {
    ++num_shown;
    if (options.json) {
      list.push_back(json_of_job(row));
      return;
    }
    const std::string who = row.agent.empty() ? "" : "  " + row.agent;
    const std::string why = row.failure.empty() ? "" : fmt::format("  {}: {}", row.failure, row.detail);
    print_line(stdout, fmt::format("{:>6}  {:<12}  {:<8}  {:<14}  {}{}{}", row.id, name(row.step), name(row.state),
                                   row.solver.empty() ? "-" : row.solver, row.problem, who, why));
  });
  if (options.json)
    print_json(list);
  else
    print_line(stdout, counted(num_shown, "job"));
  return 0;
}

int reset_jobs(const JobsOptions& options) {
  check_class(options.filter.failure);
  const size_t num_reset = existing_fleet_store()->reset_jobs(options.filter.session, options.filter.failure);
  print_line(stdout, fmt::format("{} queued again", counted(num_reset, "job")));
  return 0;
}

void add_load_command(CLI::App& jobs, Action& chosen) {
  auto options = std::make_shared<JobsOptions>();
  JobLoad& load = options->load;
  auto* command = jobs.add_subcommand("load", "Add the jobs of a set of configurations; those that are there stay");
  command->add_option("--session", load.session, "The session")->required()->check(positive_number_error);
  command->add_option("-t,--tag", load.tag, "Configurations of this tag");
  command->add_flag("--all-configs", options->all_configs, "All configurations");
  command->add_option("--steps", options->steps, "perf_compile,perf_eval for a search, find_compile,find_eval without")
      ->required();
  command->add_flag("-o,--only-applicable", load.only_applicable,
                    "Jobs only where a solver applies; else they end as unsupported there");
  command->add_option("-l,--label", load.reason, "Why, in one line; each job keeps it")->required()->check(label_error);
  command->add_option("--solvers", load.solvers, "Only these solvers; default: all of the session")->delimiter(',');
  add_json_flag(*command, options->json);
  command->footer(
      "Example:\n"
      "  attune jobs load --session 1 -t resnet50 --steps perf_compile,perf_eval -o -l \"new solver\"");
  command->callback([options, &chosen] { chosen = [options] { return load_jobs(*options); }; });
}

void add_jobs_flags(CLI::App& command, Action& chosen) {
  command.require_subcommand(1);
  add_load_command(command, chosen);
  auto options = std::make_shared<JobsOptions>();
  JobFilter& filter = options->filter;
  auto* list = command.add_subcommand("list", "List the jobs of a session");
  list->add_option("-t,--tag", filter.tag, "Only of configurations of this tag");
  list->add_option("--class", filter.failure, "Only those that failed so, such as crashed");
  list->add_option("--state", options->state, "Only those in this state")
      ->check(one_of({"queued", "leased", "done", "failed", "excluded"}));
  add_json_flag(*list, options->json);
  list->callback([options, &chosen] { chosen = [options] { return list_jobs(*options); }; });
  auto* reset = command.add_subcommand("reset", "Queue failed and excluded jobs again");
  reset->add_option("--class", filter.failure, "Those that failed so, such as crashed")->required();
  reset->callback([options, &chosen] { chosen = [options] { return reset_jobs(*options); }; });
  for (CLI::App* part : {list, reset})
    part->add_option("--session", filter.session, "The session")->required()->check(positive_number_error);
}

}  // namespace

Command jobs_command() {
  return {CommandGroup::tune, "jobs", "Load, list and reset the jobs of a session", add_jobs_flags};
}

}  // namespace attune
