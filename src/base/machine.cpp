// SPDX-License-Identifier: MIT
#include "base/machine.h"

#include <sched.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace attune {

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (::sched_getaffinity(0, sizeof mask, &mask) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<size_t>(core), &mask)) cores.push_back(core);
  }
  return cores;
}

std::optional<int64_t> meminfo_bytes(std::string_view name, const std::filesystem::path& root) {
  std::string text;
  try {
    text = read_file(root / "proc/meminfo");
  } catch (const Error&) {
    return std::nullopt;
  }
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(name) || !line.substr(name.size()).starts_with(":")) continue;
    const std::string_view value = trim(line.substr(name.size() + 1));  // `123 kB`
    if (const auto kilobytes = parse_int(value.substr(0, value.find(' ')))) return *kilobytes * 1024;
  }
  return std::nullopt;
}

}  // namespace attune
