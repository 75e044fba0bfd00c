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
#include "fleet/setup/container_image.h"
#include "fleet/setup/list_solvers.h"
#include "fleet/setup/mituna_database.h"
#include "fleet/setup/retune.h"
#include "fleet/setup/session_device.h"
#include "fleet/setup/session_import.h"
#include "report/json_output.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

struct SessionOptions {
  /// Read before the registry, which sets some.
  std::vector<std::string> variables = library_variables();
  std::string reason;
  std::string inputs = "served";
  SessionCustody custody;
  DeviceChoice devices;
  RetuneOptions retune;
  std::string file, from, tag, source;
  MiopenDevice device;
  int64_t older_session = 0, golden_version = 0;
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
          {"ticket", one.custody.ticket},
          {"image", one.custody.image},
          {"imported_from", one.custody.source},
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
         "run `attune solvers update --devices {0}` first, the store's solvers are not those of {0}: {1}",
         environment.device().id, join(differing, "; "));
  const auto versions = versions_of(here, solvers);
  SessionCustody custody = options.custody;
  custody.image = container_image();
  const int64_t id = store->begin_session(
      fleet_environment(environment.device(), options.variables, versions, options.inputs), options.reason, custody);
  std::optional<Retune> retune;
  if (options.retune.only_stale || options.retune.only_recurrent)
    retune = load_retune_jobs(*store, id, options.retune, open_foreign_results("").get());
  if (const std::string note = image_difference(store->session(id), custody.image); !note.empty())
    print_line(stderr, "note: " + note);
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

int import_session(const SessionOptions& options) {
  if (options.file.empty() == options.from.empty())
    fail(ErrorCode::invalid_input, "name one source: a file with -f, or a database of MITuna with --from");
  if (options.device.arch.empty() != (options.device.num_units == 0))
    fail(ErrorCode::invalid_input, "--arch and --num_cu name a device together");
  ForeignSession found;
  if (options.from.empty()) {
    if (options.tag.empty()) fail(ErrorCode::invalid_input, "name the set of the file's configurations with -t");
    if (options.older_session != 0 || options.golden_version != 0)
      fail(ErrorCode::invalid_input, "--session_id and --golden_v choose of a database of MITuna, and this is a file");
    found = read_foreign_file(options.file, options.tag, options.source, options.device);
  } else {
    if (!options.source.empty() || (!options.device.arch.empty() && options.golden_version == 0))
      fail(ErrorCode::invalid_input,
           "--arch, --num_cu and --source describe a file, and MITuna's database states them");
    if (options.older_session != 0 && options.golden_version != 0)
      fail(ErrorCode::invalid_input, "name a session with --session_id, or a golden version with --golden_v");
    found = read_mituna({.address = options.from,
                         .session = options.older_session,
                         .golden_version = options.golden_version,
                         .device = options.device,
                         .tag = options.tag});
  }
  if (!options.custody.ticket.empty()) found.ticket = options.custody.ticket;
  check_device(found);
  const auto store = open_fleet_store("");
  const auto results = open_foreign_results("");
  const SessionImport made = store_foreign_session(*store, *results, found, options.reason);
  if (options.json) {
    print_json({{"session", json_of_session(store->session(made.session))},
                {"configurations", made.num_configurations},
                {"new", made.num_new},
                {"results", found.results.size()},
                {"notices", found.notices}});
    return 0;
  }
  print_notes(found.notices);
  print_line(stdout, fmt::format("session {} of {}/{}: {}, {} new, {} kept as foreign", made.session, found.device.arch,
                                 found.device.num_units, counted(made.num_configurations, "configuration"),
                                 made.num_new, counted(found.results.size(), "result")));
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
  for (const auto& [what, text] :
       {std::pair("ticket", &one.custody.ticket), std::pair("container image", &one.custody.image),
        std::pair("imported from", &one.custody.source)}) {
    if (!text->empty()) print_line(stdout, fmt::format("  {} {}", what, *text));
  }
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

void add_import_flags(CLI::App& command, const std::shared_ptr<SessionOptions>& options, Action& chosen) {
  auto* part = command.add_subcommand(
      "import",
      "Keep what another program tuned as a closed session: configurations, and its times as foreign results");
  part->add_option("-l,--label", options->reason, "Why, in one line")->required()->check(label_error);
  part->add_option("-f,--file", options->file, "A find-db, a perf-db or results of fin");
  part->add_option("--from", options->from,
                   "Instead of a file: a database of MITuna, mariadb://USER@HOST[:PORT]/DATABASE, also mysql://; its "
                   "password from ?password_file=FILE, or TUNA_DB_USER_PASSWORD");
  part->add_option("--session_id", options->older_session, "The session there; default: its only one")
      ->check(positive_number_error);
  part->add_option("--golden_v", options->golden_version, "Instead of a session: the golden version there")
      ->check(positive_number_error);
  part->add_option("-t,--tag", options->tag, "Name of the set; of a database a further one")->check(label_error);
  part->add_option("-a,--arch", options->device.arch,
                   "Device of a file whose name states none, or of a golden version: gfx90a");
  part->add_option("-n,--num_cu", options->device.num_units, "Its number of compute units")
      ->check(positive_number_error);
  part->add_option("--source", options->source, "Name of the results; default: the file's name")->check(label_error);
  part->add_option("--ticket", options->custody.ticket, "The order that it served")->check(label_error);
  add_json_flag(*part, options->json);
  part->footer(
      "A dump of a database: load it into an empty one, mariadb DATABASE < dump.sql, and name that with --from.\n"
      "attune session init --retune-stale tunes what was imported for its device.");
  part->callback([options, &chosen] { chosen = [options] { return import_session(*options); }; });
}

void add_session_flags(CLI::App& command, Action& chosen) {
  command.require_subcommand(1);
  auto options = std::make_shared<SessionOptions>();
  auto* init = command.add_subcommand("init", "Begin a session: pin device, libraries, solvers and variables of now");
  init->add_option("-l,--label", options->reason, "Why, in one line")->required()->check(label_error);
  init->add_option("--ticket", options->custody.ticket, "The order that it serves, such as a ticket's number")
      ->check(label_error);
  add_device_flags(*init, options->devices);
  add_inputs_flag(*init, options->inputs);
  init->add_flag("--retune-stale", options->retune.only_stale,
                 "Load perf jobs for configurations whose last decision on this device is void: another driver, "
                 "measuring protocol, or version of a solver or library");
  init->add_flag(
      "--recurrent", options->retune.only_recurrent,
      "Load perf jobs for the configurations that are marked as recurrent; with --retune-stale for the stale "
      "ones of them");
  add_json_flag(*init, options->json);
  init->callback([options, &chosen] { chosen = [options] { return begin_session(*options); }; });
  add_import_flags(command, options, chosen);
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
  return {CommandGroup::tune, "session", "Begin, import, list and end tuning sessions", add_session_flags};
}

}  // namespace attune
