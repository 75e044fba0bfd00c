// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace attune {

/// Rewrites the single-dash spellings of the older tools for CLI11: `-o2 F` → `--profile_file F`, `-col_a` → `--col_a`;
/// `export` and `tuna` have none. Throws invalid_input for a bare `-k`, which was the split-K switch in the older tools
/// and is K in Attune.
std::vector<std::string> rewrite_arguments(std::vector<std::string> arguments);

/// Adds `--json`.
void add_json_flag(CLI::App& command, bool& json);
/// Adds `--inputs`, the temperature of operands before a launch.
void add_inputs_flag(CLI::App& command, std::string& inputs);
/// Adds `--require`, which accepts the texts of Requirement except the empty one.
void add_require_flag(CLI::App& command, std::string& require, const std::string& help);
/// Adds `--quiet-wait`.
void add_quiet_wait_flag(CLI::App& command, double& seconds);
/// Adds `--max-cache-bytes`, the size to which compiled kernels may grow.
void add_cache_size_flag(CLI::App& command, std::optional<uint64_t>& bytes);

/// Group of the flags that a command accepts only to refuse them with a sentence.
inline constexpr const char* kRefusedFlags = "Refused flags";
/// Removes that group from the help of every command; `--help-all` is to show it.
void hide_refused_flags(CLI::App& app);
/// Type of the value of a flag that may be empty, as a workflow's input is that nobody filled in.
inline constexpr const char* kTextOrNothing = "TEXT or \"\"";
/// Applies to every flag of a program and its commands: a value must not be empty, unless its type is kTextOrNothing,
/// and a switch may be given again.
void apply_common_rules(CLI::App& app);
/// Returns the names of the commands, or of a command's own, that the help shows.
std::vector<std::string> commands_in_help(const CLI::App& app);

}  // namespace attune
