// SPDX-License-Identifier: MIT
#include "device/default_devices.h"

#include <algorithm>

#include "base/text.h"

namespace attune {
namespace {

constexpr const char* kHost = "cpu:0";

int rank(const ListedDevice& device) {
  if (device.precedes_host) return 0;
  return device.info.id == kHost ? 1 : 2;
}

/// Returns the ids of the preferred device and of its equals; empty without devices.
std::string equal_ids(std::vector<ListedDevice> devices) {
  std::ranges::stable_sort(devices, {}, rank);
  std::vector<std::string> ids;
  for (const ListedDevice& one : devices) {
    if (one.info.fingerprint() == devices.front().info.fingerprint()) ids.push_back(one.info.id);
  }
  return join(ids, ",");
}

}  // namespace

std::string default_devices(std::span<const ListedDevice> here, std::span<const std::string> architectures) {
  std::vector<ListedDevice> named, first;
  for (const ListedDevice& one : here) {
    if (std::ranges::find(architectures, one.info.gfx) != architectures.end()) named.push_back(one);
    if (one.precedes_host) first.push_back(one);
  }
  if (!named.empty()) return equal_ids(std::move(named));
  return first.empty() ? kHost : equal_ids(std::move(first));
}

}  // namespace attune
