// SPDX-License-Identifier: MIT
#include "fleet/agent/agent_name.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/machine.h"
#include "base/text.h"
#include "process/process_stat.h"

namespace attune {
namespace {

/// Start of a process in ticks since the machine's start; 0: no such process.
int64_t start_of(int64_t pid) {
  const auto stat = process_stat(static_cast<pid_t>(pid));
  return stat.empty() ? 0 : stat[kStartTicks];
}

/// What tells apart the processes of equal numbers: the machine's boot and the container.
std::string place() {
  const std::string boot(trim(read_file_if_any("/proc/sys/kernel/random/boot_id").value_or("unknown")));
  std::error_code error;
  const std::string space = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
  std::string digits;
  for (const char one : space) {
    if (one >= '0' && one <= '9') digits += one;
  }
  return boot.substr(0, 8) + "-" + digits;
}

}  // namespace

std::string agent_name() { return fmt::format("{}/{}/{}-{}", host_name(), ::getpid(), place(), start_of(::getpid())); }

bool is_ended_agent(std::string_view name) {
  const auto parts = split(name, '/');
  if (parts.size() != 3 || parts[0] != host_name()) return false;
  const auto pid = parse_int(parts[1]);
  const size_t dash = parts[2].rfind('-');
  if (!pid || dash == std::string_view::npos || parts[2].substr(0, dash) != place()) return false;
  const auto start = parse_int(parts[2].substr(dash + 1));
  return start && *start != start_of(*pid);
}

}  // namespace attune
