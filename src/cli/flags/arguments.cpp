// SPDX-License-Identifier: MIT
#include "cli/flags/arguments.h"

#include <CLI/CLI.hpp>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "cli/flags/value_checks.h"
#include "core/record.h"

namespace attune {

std::vector<std::string> rewrite_arguments(std::vector<std::string> arguments) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kSpellings = {
      {{"-o2", "--profile_file"},
       {"-col_a", "--col_a"},
       {"-col_b", "--col_b"},
       {"-dtype_a", "--dtype_a"},
       {"-dtype_b", "--dtype_b"},
       {"-dtype_c", "--dtype_c"},
       {"--o", "--tuning_results_file"}}};
  // Their -k is a switch.
  if (!arguments.empty() && (arguments.front() == "export" || arguments.front() == "tuna")) return arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    for (const auto& [old_spelling, spelling] : kSpellings) {
      if (arguments[i] == old_spelling)
        arguments[i] = spelling;
      else if (arguments[i].starts_with(std::string(old_spelling) + "="))
        arguments[i] = std::string(spelling) + arguments[i].substr(old_spelling.size());
    }
    if (arguments[i] == "-k" && (i + 1 == arguments.size() || !parse_int(arguments[i + 1]))) {
      fail(ErrorCode::invalid_input,
           "-k is the size K and needs a number; split-K candidates are always tried unless --no-splitK is given");
    }
  }
  return arguments;
}

void add_json_flag(CLI::App& command, bool& json) { command.add_flag("--json", json, "Machine-readable"); }

void add_inputs_flag(CLI::App& command, std::string& inputs) {
  command
      .add_option("--inputs", inputs,
                  "Operands before a launch: served (weights cold, activations and output warm, as in a model), cold "
                  "(all rotate over more than the caches hold) or warm (all stay in place)")
      ->capture_default_str()
      ->check(one_of({kCachePolicyNames.begin(), kCachePolicyNames.end()}));
}

void add_require_flag(CLI::App& command, std::string& require, const std::string& help) {
  command.add_option("--require", require, help)
      ->check(one_of({std::string(text(Requirement::deterministic)), std::string(text(Requirement::batch_invariant))}));
}

void add_quiet_wait_flag(CLI::App& command, double& seconds) {
  command
      .add_option("--quiet-wait", seconds, "Seconds to wait until other programs are idle, before anything is measured")
      ->capture_default_str()
      ->check(amount_error);
}

void add_cache_size_flag(CLI::App& command, std::optional<uint64_t>& bytes) {
  command
      .add_option(
          "--max-cache-bytes", bytes,
          "Size to which compiled kernels may grow: beyond it those used longest ago are removed, but none that "
          "a run needs; default: ATTUNE_MAX_CACHE_BYTES, else 1 GiB")
      ->check(natural_number_error);
}

std::vector<std::string> commands_in_help(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    names.push_back(command->get_name());
  return names;
}

void hide_refused_flags(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands(nullptr)) {
    for (CLI::Option* option : command->get_options()) {
      if (option->get_group() == kRefusedFlags) option->group("");
    }
  }
}

void apply_common_rules(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_expected_max() == 0)
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // A switch that is given twice is on.
    else if (option->get_expected_min() > 0 && option->get_type_name() != kTextOrNothing)
      option->check([](const std::string& text) { return text.empty() ? "expected a value, got an empty one" : ""; });
  }
  for (CLI::App* command : app.get_subcommands(nullptr)) apply_common_rules(*command);
}

}  // namespace attune
