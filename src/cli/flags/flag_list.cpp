// SPDX-License-Identifier: MIT
#include "cli/flags/flag_list.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/flags/arguments.h"
#include "report/json_output.h"

namespace attune {

void print_flags(const CLI::App& command) {
  using nlohmann::ordered_json;
  ordered_json list = ordered_json::array();
  for (const CLI::Option* option : command.get_options()) {
    const bool asks =
        option == command.get_help_ptr() || option == command.get_help_all_ptr() || option->check_name(kListFlags);
    if (asks || option->get_group().empty() || option->get_group() == kRefusedFlags) continue;
    ordered_json names = ordered_json::array();
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    if (names.empty()) continue;  // Of the problem's text.
    list.push_back({{"names", names},
                    {"takes_value", option->get_expected_max() > 0},
                    {"needs_value", option->get_expected_min() > 0},
                    {"help", option->get_description()}});
  }
  print_json(list);
}

}  // namespace attune
