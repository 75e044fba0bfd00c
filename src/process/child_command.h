// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "process/process_limits.h"

namespace attune {

/// A command to run directly, never by a shell. Its standard input is empty.
struct ChildCommand {
  std::vector<std::string> arguments;              ///< arguments[0] is an absolute path.
  std::map<std::string, std::string> environment;  ///< The whole environment; this process's is not inherited.
  std::filesystem::path folder;                    ///< Working directory; empty: this process's.
  std::filesystem::path output;                    ///< Receives the output, created or truncated; empty: /dev/null.
  std::filesystem::path errors;                    ///< Receives standard error alone; empty: `output` receives it, too.
  /// Descriptors of this process, in any order, that the child gets as 3, 4, 5 …; they stay open at the child's exec,
  /// and in this process.
  std::vector<int> inherited;
  int cgroup = -1;  ///< Open `cgroup.procs` of the child's cgroup (v2): MemoryCgroup::descriptor(). −1: this process's
                    ///< cgroup.
  ProcessLimits limits;
  bool joins_group = false;  ///< Stay in this process's group, and end with it, instead of leading a group.
};

/// The folders in which programs are looked for: $PATH, else the system's own.
std::string program_search_path();
/// Whether the file is a program that this user may run.
bool is_runnable_program(const std::filesystem::path& file);
/// Absolute path of a program in one of these folders, as a ChildCommand needs it; empty: there is none. Folders with
/// relative names are passed over.
std::filesystem::path find_on_path(std::string_view name);

}  // namespace attune
