// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/locations.h"
#include "base/variable.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "report/json_output.h"
#include "store/fleet/store_address.h"

namespace attune {
namespace {

/// Returns a remark on a path for people; empty: it is there.
std::string why_absent(const std::filesystem::path& path) {
  std::error_code error;
  if (path.native().find("://") != std::string::npos) return "";  // A server.
  if (std::filesystem::exists(path, error)) return "";
  return error ? ", cannot be accessed: " + error.message() : ", does not exist yet";
}

int run_paths(bool json) {
  auto locations = all_locations();
  const StoreAddress store = store_address("");
  locations.push_back({"fleet", store.shown(),
                       variable_or_null("ATTUNE_STORE") != nullptr ? "ATTUNE_STORE"
                       : store.is_server()                         ? "TUNA_DB_HOSTNAME"
                                                                   : home_location().set_by});
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const auto& location : locations) {
      list.push_back({{"name", location.name},
                      {"path", location.path.string()},
                      {"set_by", location.set_by},
                      {"exists", why_absent(location.path).empty()}});
    }
    print_json(list);
    return 0;
  }
  for (const auto& location : locations) {
    std::printf("%-10s %s  (%s%s)\n", location.name.c_str(), location.path.c_str(), location.set_by.c_str(),
                why_absent(location.path).c_str());
  }
  return 0;
}

void add_paths_flags(CLI::App& command, Action& chosen) {
  auto json = std::make_shared<bool>(false);
  add_json_flag(command, *json);
  command.callback([json, &chosen] { chosen = [json] { return run_paths(*json); }; });
}

}  // namespace

Command paths_command() {
  return {CommandGroup::maintenance, "paths",
          "Show where tables, journal, captures and kernels are kept, and what sets each path", add_paths_flags};
}

}  // namespace attune
