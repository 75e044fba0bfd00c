// SPDX-License-Identifier: MIT
#include "device/core_partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/text.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

/// Position of a core, outermost first: cores with more numbers in common are closer.
using Place = std::array<int64_t, 6>;

/// A number of sysfs; -1 if the kernel does not report it.
int64_t number_in(const fs::path& file) {
  const auto text = read_file_if_any(file);
  return text ? parse_int(trim(*text)).value_or(-1) : -1;
}

/// The NUMA node of a core: the name of a link in its folder, `node1`.
int64_t node_of(const fs::path& folder) {
  constexpr std::string_view kPrefix = "node";
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    if (const auto node = parse_int(std::string_view(name).substr(kPrefix.size()))) return *node;
  }
  return -1;
}

Place place_of(int core, const fs::path& root) {
  const fs::path folder = root / fmt::format("sys/devices/system/cpu/cpu{}", core);
  const fs::path topology = folder / "topology";
  return {number_in(topology / "physical_package_id"),
          node_of(folder),
          number_in(topology / "die_id"),
          number_in(folder / "cache/index3/id"),
          number_in(topology / "core_id"),
          core};
}

}  // namespace

std::vector<std::vector<int>> partition_cores(size_t num_parts) {
  return partition_cores(allowed_cores(), num_parts, "/");
}

std::vector<std::vector<int>> partition_cores(std::vector<int> cores, size_t num_parts, const fs::path& root) {
  if (num_parts == 0 || cores.size() < num_parts)
    fail(ErrorCode::invalid_input, "there are fewer cores than devices: {} cores, {} devices", cores.size(), num_parts);
  std::map<int, Place> places;
  for (const int core : cores) places[core] = place_of(core, root);
  std::ranges::sort(cores, {}, [&](int core) { return places[core]; });
  std::vector<std::vector<int>> parts;
  const size_t size = cores.size() / num_parts;
  for (size_t i = 0; i < num_parts; ++i) {
    // Remaining cores lie between the parts, so that fewer parts lie in two packages.
    const size_t begin = (i * cores.size() + num_parts - 1) / num_parts;
    const auto first = cores.begin() + static_cast<std::ptrdiff_t>(begin);
    std::ranges::sort(parts.emplace_back(first, first + static_cast<std::ptrdiff_t>(size)));
  }
  return parts;
}

}  // namespace attune
