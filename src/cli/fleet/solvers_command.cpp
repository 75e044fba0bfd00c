// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "campaign/devices/open_devices.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/device_flags.h"
#include "cli/fleet/store_commands.h"
#include "fleet/setup/list_solvers.h"
#include "report/json_output.h"

namespace attune {
namespace {

struct SolversOptions {
  DeviceChoice devices;
  bool json = false;
};

void print_solvers(const std::vector<FleetSolver>& solvers, bool json) {
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const FleetSolver& one : solvers)
      list.push_back({{"id", one.id},
                      {"version", one.version},
                      {"op", one.op},
                      {"tunable", one.is_tunable},
                      {"title", one.title}});
    print_json(list);
    return;
  }
  for (const FleetSolver& one : solvers)
    print_line(stdout, fmt::format("{:<20}  {:<25}  {:<8}  {:<11}  {}", one.op, one.id, one.version,
                                   one.is_tunable ? "tunable" : "not tunable", one.title));
}

int update_solvers(const SolversOptions& options) {
  const auto environment = open_environment(options.devices, Isolation::none);
  const auto solvers = solvers_of(list_solvers(*environment.executor));
  const auto store = open_fleet_store("");
  const size_t num_new = store->set_solvers(solvers);
  print_solvers(solvers, options.json);
  if (!options.json) print_line(stdout, fmt::format("{}, {} new", counted(solvers.size(), "solver"), num_new));
  return 0;
}

int list_fleet_solvers(const SolversOptions& options) {
  const auto store = existing_fleet_store();
  const auto solvers = store->solvers();
  if (solvers.empty())
    fail(ErrorCode::invalid_input, "the store knows no solvers yet, run first: attune solvers update");
  print_solvers(solvers, options.json);
  return 0;
}

void add_solvers_flags(CLI::App& command, Action& chosen) {
  command.require_subcommand(1);
  auto options = std::make_shared<SolversOptions>();
  auto* update = command.add_subcommand("update", "Register the solvers of this program, with their versions");
  add_device_flags(*update, options->devices);
  add_json_flag(*update, options->json);
  update->callback([options, &chosen] { chosen = [options] { return update_solvers(*options); }; });
  auto* list = command.add_subcommand("list", "List the registered solvers, which the next session pins");
  add_json_flag(*list, options->json);
  list->callback([options, &chosen] { chosen = [options] { return list_fleet_solvers(*options); }; });
}

}  // namespace

Command solvers_command() {
  return {CommandGroup::tune, "solvers", "Register the solvers that sessions tune with", add_solvers_flags};
}

}  // namespace attune
