// SPDX-License-Identifier: MIT
#include "device/host/host_resources.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "base/file.h"
#include "base/machine.h"
#include "base/text.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

std::optional<int64_t> read_number(const fs::path& path) {
  const auto text = read_file_if_any(path);
  return text ? parse_int(trim(*text)) : std::nullopt;
}

/// Folder of this process's cgroup for a controller ("" = v2) and its parents, the process's own first.
std::vector<fs::path> cgroup_folders(const fs::path& root, std::string_view controller) {
  std::vector<fs::path> folders;
  const auto text = read_file_if_any(root / "proc/self/cgroup");
  if (!text) return folders;
  for (const std::string_view line : split(*text, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() < 3) continue;
    const auto controllers = split(fields[1], ',');
    const bool wanted = controller.empty()
                            ? fields[1].empty()
                            : std::find(controllers.begin(), controllers.end(), controller) != controllers.end();
    if (!wanted) continue;
    const fs::path base = root / "sys/fs/cgroup" / controller;
    // A container sees its own group as the root, even if the path has more parts: the walk up ends there.
    fs::path group(std::string(fields[2].substr(std::min<size_t>(1, fields[2].size()))));
    while (!group.empty()) {
      folders.push_back(base / group);
      group = group.parent_path();
    }
    folders.push_back(base);
  }
  return folders;
}

/// Names of a version of cgroups.
struct CgroupMemory {
  std::string_view controller, limit, used, statistics;  ///< `statistics`: prefix in memory.stat.
};
constexpr CgroupMemory kCgroupMemory[] = {{"", "memory.max", "memory.current", ""},
                                          {"memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"}};

/// Bytes of files that a cgroup has in memory, at most `used`.
uint64_t file_cache_bytes(const fs::path& folder, std::string_view prefix, int64_t used) {
  const auto text = read_file_if_any(folder / "memory.stat");
  if (!text) return 0;
  int64_t bytes = 0;
  for (const std::string_view line : split(*text, '\n')) {
    for (const std::string_view kind : {"inactive_file ", "active_file "}) {
      if (line.starts_with(prefix) && line.substr(prefix.size()).starts_with(kind))
        bytes += parse_int(line.substr(prefix.size() + kind.size())).value_or(0);
    }
  }
  return static_cast<uint64_t>(std::clamp<int64_t>(bytes, 0, used));
}

/// Address space of this process.
uint64_t address_space_bytes(const fs::path& root) {
  const auto text = read_file_if_any(root / "proc/self/statm");
  const auto pages = text ? parse_int(split(*text, ' ').front()) : std::nullopt;
  return pages ? static_cast<uint64_t>(*pages) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace

double cgroup_cores(const fs::path& root) {
  double cores = std::numeric_limits<double>::infinity();
  for (const fs::path& folder : cgroup_folders(root, "")) {
    const auto text = read_file_if_any(folder / "cpu.max");
    if (!text) continue;
    const auto fields = split(trim(*text), ' ');
    const auto quota = parse_double(fields[0]), period = fields.size() > 1 ? parse_double(fields[1]) : std::nullopt;
    if (quota && period && *period > 0) cores = std::min(cores, *quota / *period);
  }
  for (const fs::path& folder : cgroup_folders(root, "cpu")) {
    const auto quota = read_number(folder / "cpu.cfs_quota_us"), period = read_number(folder / "cpu.cfs_period_us");
    if (quota && period && *quota > 0 && *period > 0) {
      cores = std::min(cores, static_cast<double>(*quota) / static_cast<double>(*period));
    }
  }
  return cores;
}

std::vector<int> usable_cores() {
  std::vector<int> cores = process_cores();
  if (cores.empty()) cores.push_back(0);
  // Whole processors only: threads beyond the quota are stopped for the rest of each period.
  const double quota = std::floor(cgroup_cores() + 0.01);
  if (quota < static_cast<double>(cores.size())) cores.resize(static_cast<size_t>(std::max(1.0, quota)));
  return cores;
}

int64_t memory_bytes(const fs::path& root) {
  int64_t bytes = meminfo_bytes("MemTotal", root).value_or(0);
  const auto lower = [&](std::optional<int64_t> limit) {
    if (limit && *limit > 0 && (bytes == 0 || *limit < bytes)) bytes = *limit;
  };
  for (const CgroupMemory& names : kCgroupMemory) {
    for (const fs::path& folder : cgroup_folders(root, names.controller)) lower(read_number(folder / names.limit));
  }
  return bytes;
}

uint64_t available_memory_bytes(const fs::path& root) {
  auto available =
      static_cast<uint64_t>(meminfo_bytes("MemAvailable", root).value_or(std::numeric_limits<int64_t>::max()));
  const auto lower = [&](uint64_t limit, uint64_t used) {
    available = std::min(available, limit - std::min(limit, used));
  };
  // The kernel frees the cache of files when the group needs memory.
  for (const CgroupMemory& names : kCgroupMemory) {
    for (const fs::path& folder : cgroup_folders(root, names.controller)) {
      const auto limit = read_number(folder / names.limit), used = read_number(folder / names.used);
      if (limit && used) {
        lower(static_cast<uint64_t>(*limit),
              static_cast<uint64_t>(*used) - file_cache_bytes(folder, names.statistics, *used));
      }
    }
  }
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    lower(limit.rlim_cur, address_space_bytes(root));
  return available;
}

std::map<int, int64_t> cache_bytes(int core, const fs::path& root) {
  std::map<int, int64_t> levels;
  for (int index = 0; index < 16; ++index) {
    const fs::path folder =
        root / "sys/devices/system/cpu" / ("cpu" + std::to_string(core)) / "cache" / ("index" + std::to_string(index));
    const auto level = read_number(folder / "level");
    const auto type = read_file_if_any(folder / "type"), size = read_file_if_any(folder / "size");
    if (!level || !type || !size || trim(*type) == "Instruction") continue;
    std::string_view digits = trim(*size);
    int64_t unit = 1;
    if (digits.ends_with('K')) unit = 1024;
    if (digits.ends_with('M')) unit = 1024 * 1024;
    if (unit > 1) digits.remove_suffix(1);
    if (const auto count = parse_int(digits)) levels[static_cast<int>(*level)] = *count * unit;
  }
  return levels;
}

}  // namespace attune
