// SPDX-License-Identifier: MIT
#include "device/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "device/default_devices.h"
#include "device/device_kind.h"

namespace attune {

namespace {

/// The devices of a kind, or the reason why it has none.
struct Listing {
  std::vector<DeviceInfo> devices;
  std::string why_none;
};
Listing listing_of(const DeviceKind& kind) {
  Listing listing;
  try {
    listing.devices = kind.list();
  } catch (const std::exception& error) {
    return {{}, error.what()};
  } catch (...) {
    return {{}, "it throws an exception of unknown type"};
  }
  for (const DeviceInfo& info : listing.devices) {
    if (info.kind != kind.name) return {{}, fmt::format("it lists a device of the kind '{}'", info.kind)};
  }
  return listing;
}

[[noreturn]] void fail_unknown(std::string_view id) {
  std::vector<std::string> known;
  for (const DeviceInfo& info : list_devices()) known.push_back(info.id);
  const DeviceKind* const kind = find_device_kind(id);
  if (kind == nullptr)
    fail(ErrorCode::invalid_input, "unknown device; choose one of {}, got '{}'", join(known, ", "), id);
  fail(ErrorCode::invalid_input, "unknown device, this machine has no '{}'; choose one of {}", id, join(known, ", "));
}

/// Asks only the id's own kind: listing GPUs opens their driver.
std::optional<DeviceInfo> find_listed(std::string_view id) {
  const DeviceKind* const kind = find_device_kind(id);
  if (kind == nullptr) return std::nullopt;
  Listing listing = listing_of(*kind);
  const auto found = std::ranges::find(listing.devices, id, &DeviceInfo::id);
  if (found != listing.devices.end()) return std::move(*found);
  if (listing.why_none.empty()) return std::nullopt;
  fail(ErrorCode::unavailable, "{} cannot be used: {}", id, listing.why_none);
}

}  // namespace

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> all;
  for (const DeviceKind& kind : device_kinds()) {
    for (DeviceInfo& info : listing_of(kind).devices) all.push_back(std::move(info));
  }
  return all;
}

std::vector<DeviceInfo> list_devices(std::string_view id) {
  const DeviceKind* const kind = find_device_kind(id);
  return kind == nullptr ? std::vector<DeviceInfo>() : listing_of(*kind).devices;
}

std::vector<std::string> device_notices() {
  std::vector<std::string> notices;
  for (const DeviceKind& kind : device_kinds()) {
    if (const std::string why = listing_of(kind).why_none; !why.empty())
      notices.push_back(fmt::format("devices of the kind '{}' are left out, {}", kind.name, why));
  }
  return notices;
}

std::unique_ptr<Device> open_device(std::string_view id, int64_t max_units) {
  const auto info = find_listed(id);
  if (!info) fail_unknown(id);
  if (auto device = device_kind(info->kind).open(id, max_units)) return device;
  fail(ErrorCode::unavailable, "the device cannot be opened: {}", id);
}

std::string device_ids(const DeviceChoice& device, std::span<const std::string> architectures) {
  if (!device.ids.empty()) return device.ids;
  if (device.threads > 0) return "cpu:0";
  std::vector<ListedDevice> here;
  for (const DeviceKind& kind : device_kinds()) {
    if (architectures.empty() && !kind.precedes_host) continue;
    for (DeviceInfo& info : listing_of(kind).devices) here.push_back({std::move(info), kind.precedes_host});
  }
  return default_devices(here, architectures);
}

std::string device_id(const DeviceChoice& device, std::span<const std::string> architectures) {
  const std::string ids = device_ids(device, architectures);
  return ids.substr(0, ids.find(','));
}

std::string_view preferred_prefix() {
  const DeviceKind* preferred = nullptr;
  for (const DeviceKind& kind : device_kinds()) {
    if (!kind.precedes_host) continue;
    const bool is_here = !listing_of(kind).devices.empty();
    if (is_here || preferred == nullptr) preferred = &kind;
    if (is_here) break;
  }
  if (preferred == nullptr) fail(ErrorCode::invalid_input, "this build knows no GPUs, name devices with --devices");
  return preferred->prefix.empty() ? preferred->name : preferred->prefix;
}

void check_is_one_device(const DeviceChoice& device) {
  if (device.ids.find(',') != std::string::npos)
    fail(ErrorCode::invalid_input, "this command works on one device, got '{}'", device.ids);
}

DeviceInfo find_device(const DeviceChoice& device) {
  check_is_one_device(device);
  const std::string id = device_id(device);
  auto info = find_listed(id);
  if (!info) fail_unknown(id);
  if (device.threads == 0 || !units_are_cores(*info)) return *std::move(info);
  return open_device(id, thread_limit(device))->info();
}

int64_t thread_limit(const DeviceChoice& device) {
  const int64_t own = find_device({.ids = "cpu:0"}).num_units;
  if (device.threads <= own) return device.threads == 0 ? own : device.threads;
  fail(ErrorCode::invalid_input,
       "--threads is above the limit of this process, which its cores, its CPU quota, ATTUNE_THREADS, "
       "OMP_NUM_THREADS and OMP_THREAD_LIMIT set: {}, the limit is {}",
       device.threads, own);
}

namespace {

/// The flags with which a command runs on the device of a key; nothing if no device has it.
std::optional<std::string> flags_of(std::span<const DeviceInfo> devices, const std::string& key) {
  const auto found =
      std::find_if(devices.begin(), devices.end(), [&](const DeviceInfo& device) { return device.key() == key; });
  if (found != devices.end()) return "--devices " + found->id;
  const size_t slash = key.rfind('/');
  for (const DeviceInfo& device : devices) {
    // Units that are cores are a thread limit, which a flag sets.
    if (units_are_cores(device) && slash != std::string::npos && device.gfx == key.substr(0, slash))
      return fmt::format("--devices {} --threads {}", device.id, key.substr(slash + 1));
  }
  return std::nullopt;
}

constexpr const char* kFlagsOfOthers = "--devices cpu:0";

}  // namespace

std::string device_flags(std::span<const DeviceInfo> devices, const std::string& key) {
  return flags_of(devices, key).value_or(kFlagsOfOthers);
}

const std::string& DeviceLookup::flags(const std::string& key) {
  const auto [known, is_new] = flags_by_key_.emplace(key, kFlagsOfOthers);
  if (!is_new) return known->second;
  for (const DeviceKind& kind : device_kinds()) {
    const auto flags = flags_of(listing_of(kind).devices, key);
    if (!flags) continue;
    known->second = *flags;
    break;
  }
  return known->second;
}

}  // namespace attune
