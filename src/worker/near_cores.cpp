// SPDX-License-Identifier: MIT
#include "worker/near_cores.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/text.h"

namespace attune {
namespace {

/// The numbers of a list such as `0-3,8`; nothing for another text.
std::optional<std::vector<int>> listed_cores(std::string_view text) {
  std::vector<int> cores;
  for (const std::string_view part : split(trim(text), ',')) {
    const size_t dash = part.find('-');
    const auto first = parse_int(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_int(part.substr(dash + 1));
    constexpr int64_t kMaxCore = 1 << 16;
    if (!first || !last || *first < 0 || *last > kMaxCore) return std::nullopt;
    for (int64_t core = *first; core <= *last; ++core) cores.push_back(static_cast<int>(core));
  }
  std::ranges::sort(cores);
  return cores;
}

}  // namespace

std::vector<int> cores_near(std::string_view pci_address, const std::filesystem::path& root) {
  // sysfs writes it in small letters, drivers of GPUs in capitals.
  std::string address(pci_address);
  std::ranges::transform(address, address.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string text;
  try {
    text = read_file(root / "sys/bus/pci/devices" / address / "local_cpulist");
  } catch (const Error&) {
    return {};
  }
  const auto local = listed_cores(text);
  if (!local) return {};
  const std::vector<int> allowed = allowed_cores();
  std::vector<int> near;
  std::ranges::set_intersection(allowed, *local, std::back_inserter(near));
  return near.size() == allowed.size() ? std::vector<int>() : near;
}

}  // namespace attune
