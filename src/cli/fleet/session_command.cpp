// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "campaign/devices/open_devices.h"
#include "campaign/tune_options.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/device_flags.h"
#include "cli/flags/value_checks.h"
#include "cli/fleet/store_commands.h"
#include "fleet/agent/fleet_environment.h"
#include "fleet/agent/session_match.h"
#include "fleet/setup/list_solvers.h"
#include "fleet/setup/retune.h"
#include "fleet/setup/session_device.h"
#include "report/json_output.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

struct SessionOptions {
  /// Read before the registry, which sets some.
  std::vector<std::string> variables = library_variables();
  std::string reason;
  DeviceChoice devices;
  RetuneOptions retune;
  int64_t id = 0;
  bool json = false;
};

ordered_json json_of_session(const FleetSession& one) {
  ordered_json solvers = ordered_json::array();
  for (const FleetSolver& solver : one.solvers)
    solvers.push_back({{"id", solver.id}, {"version", solver.version}, {"op", solver.op}});
  return {{"id", one.id},
          {"state", one.state},
          {"reason", one.reason},
          {"created_by", one.created_by},
          {"created_at", one.created_at},
          {"fingerprint", one.environment.fingerprint},
          {"device", ordered_json::parse(one.environment.device_json)},
          {"versions", one.environment.versions},
          {"variables", one.environment.variables},
          {"solvers", solvers}};
}

std::string device_line(const FleetSession& one) {
  const DeviceInfo device = device_of_session(one);
  return device.key() + " " + device.model;
}

ordered_json json_of_retune(const Retune& retune) {
  ordered_json list = ordered_json::array();
  for (const RetunedConfiguration& one : retune.configurations)
    list.push_back({{"id", one.configuration.id}, {"problem", one.configuration.key}, {"reason", one.reason}});
  return {{"tag", retune.tag}, {"configurations", list}, {"jobs", retune.num_jobs}};
}

void print_retune(const Retune& retune, const RetuneOptions& options) {
  if (retune.configurations.empty()) {
    print_line(stdout, options.only_stale ? "no configuration is stale" : "no configuration is recurrent");
    return;
  }
  for (const RetunedConfiguration& one : retune.configurations) {
    if (!one.reason.empty()) print_line(stdout, fmt::format("stale {}: {}", one.configuration.key, one.reason));
  }
  print_line(stdout, fmt::format("{} tagged {}, {} loaded", counted(retune.configurations.size(), "configuration"),
                                 retune.tag, counted(retune.num_jobs, "job")));
}

int begin_session(const SessionOptions& options) {
  const auto store = existing_fleet_store();
  const auto solvers = store->solvers();
  if (solvers.empty())
    fail(ErrorCode::invalid_input, "the store knows no solvers yet, run first: attune solvers update");
  const auto environment = open_environment(options.devices, Isolation::none);
  const auto here = list_solvers(*environment.executor);
  // An agent would refuse the session.
  if (const auto differing = solver_differences(solvers, solvers_of(here)); !differing.empty())
    fail(ErrorCode::invalid_input,
         "the store's solvers are not those of {0} ({1}), list them again first: attune "
         "solvers update --devices {0}",
         environment.device().id, join(differing, "; "));
  const auto versions = versions_of(here, solvers);
  const int64_t id =
      store->begin_session(fleet_environment(environment.device(), options.variables, versions), options.reason);
  std::optional<Retune> retune;
  if (options.retune.only_stale || options.retune.only_recurrent) retune = load_retune_jobs(*store, id, options.retune);
  if (options.json) {
    ordered_json session = json_of_session(store->session(id));
    if (retune) session["retune"] = json_of_retune(*retune);
    print_json(session);
    return 0;
  }
  print_line(stdout, fmt::format("session {}", id));
  if (retune) print_retune(*retune, options.retune);
  return 0;
}

int list_sessions(const SessionOptions& options) {
  const auto store = existing_fleet_store();
  ordered_json list = ordered_json::array();
  const auto sessions = store->sessions();
  for (const FleetSession& one : sessions) {
    if (options.json)
      list.push_back(json_of_session(one));
    else
      print_line(stdout, fmt::format("{:>4}  {:<7}  {}  {}  {}", one.id, one.state, one.created_at, device_line(one),
                                     one.reason));
  }
  if (options.json)
    print_json(list);
  else if (sessions.empty())
    print_line(stdout, "there is no session, begin one with: attune session init -l REASON");
  return 0;
}

int show_session(const SessionOptions& options) {
  const FleetSession one = existing_fleet_store()->session(options.id);
  if (options.json) {
    print_json(json_of_session(one));
    return 0;
  }
  print_line(stdout, fmt::format("session {} ({}): {}", one.id, one.state, one.reason));
  print_line(stdout, fmt::format("  begun {} by {}", one.created_at, one.created_by));
  print_line(stdout, fmt::format("  device {}", device_line(one)));
  for (const auto& [component, version] : one.environment.versions)
    print_line(stdout, fmt::format("  {} {}", component, version));
  for (const std::string& variable : one.environment.variables) print_line(stdout, "  " + variable);
  for (const FleetSolver& solver : one.solvers)
    print_line(stdout, fmt::format("  solver {}@{} for {}", solver.id, solver.version, solver.op));
  return 0;
}

int end_session(const SessionOptions& options, SessionState state) {
  const auto store = existing_fleet_store();
  store->end_session(options.id, state);
  print_line(stdout, fmt::format("session {} is {}", options.id, store->session(options.id).state));
  return 0;
}

void add_session_flags(CLI::App& command, Action& chosen) {
  command.require_subcommand(1);
  auto options = std::make_shared<SessionOptions>();
  auto* init = command.add_subcommand("init", "Begin a session: pin device, libraries, solvers and variables of now");
  init->add_option("-l,--label", options->reason, "Why, in one line")->required()->check(label_error);
  add_device_flags(*init, options->devices);
  init->add_flag("--retune-stale", options->retune.only_stale,
                 "Load perf jobs for configurations whose last decision on this device is void: another driver, or "
                 "another version of a solver or library");
  init->add_flag(
      "--recurrent", options->retune.only_recurrent,
      "Load perf jobs for the configurations that are marked as recurrent; with --retune-stale for the stale "
      "ones of them");
  add_json_flag(*init, options->json);
  init->callback([options, &chosen] { chosen = [options] { return begin_session(*options); }; });
  auto* list = command.add_subcommand("list", "List the sessions");
  add_json_flag(*list, options->json);
  list->callback([options, &chosen] { chosen = [options] { return list_sessions(*options); }; });
  auto* show = command.add_subcommand("show", "Show what a session pins");
  add_json_flag(*show, options->json);
  show->callback([options, &chosen] { chosen = [options] { return show_session(*options); }; });
  auto* close = command.add_subcommand("close", "End a session: agents finish the jobs that they hold and get no more");
  close->callback([options, &chosen] { chosen = [options] { return end_session(*options, SessionState::closed); }; });
  auto* abort = command.add_subcommand("abort", "End a session and give up its open jobs");
  abort->callback([options, &chosen] { chosen = [options] { return end_session(*options, SessionState::aborted); }; });
  for (CLI::App* part : {show, close, abort})
    part->add_option("session,--session", options->id, "Its number")->required()->check(positive_number_error);
}

}  // namespace

Command session_command() {
  return {CommandGroup::tune, "session", "Begin, list and end tuning sessions", add_session_flags};
}

}  // namespace attune
