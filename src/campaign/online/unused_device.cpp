// SPDX-License-Identifier: MIT
#include "campaign/online/unused_device.h"

#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "device/devices.h"
#include "dispatch/online/online_queue.h"

namespace attune {
namespace {

/// Takes the turn of a device. If that is not possible, returns the reason as a clause.
std::string take(const DeviceInfo& wanted, const DeviceInfo& one, const DevicesHere& here,
                 const std::filesystem::path& state, std::unique_ptr<FileLock>& turn) {
  if (one.fingerprint() != wanted.fingerprint()) return "it is another model";
  try {
    if (std::string use = here.use_of(one.id); !use.empty()) return use;
  } catch (const Error& error) {
    return error.what();
  }
  const OnlineQueue queue(state, one);
  make_private_folder(queue.folder());
  try {
    turn = std::make_unique<FileLock>(queue.turn(), FileLock::Use::alone, 0);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::timeout) throw;
    return "another program tunes on it";
  }
  return {};
}

}  // namespace

UnusedDevice find_unused(const DeviceInfo& device, const DevicesHere& here, const std::filesystem::path& state) {
  if (!here.use_of) return {device, nullptr};
  std::vector<std::string> reasons;
  for (const DeviceInfo& one : here.listed) {
    if (one.id == device.id) continue;
    std::unique_ptr<FileLock> turn;
    const std::string why_not = take(device, one, here, state, turn);
    if (why_not.empty()) return {one, std::move(turn)};
    reasons.push_back(one.id + ": " + why_not);
  }
  if (reasons.empty()) reasons.emplace_back("it is the only one that this process sees");
  fail(ErrorCode::unavailable,
       "there is no unused GPU like {} ({}); ATTUNE_ONLINE_TUNING=shared tunes on the application's own", device.id,
       join(reasons, ", "));
}

UnusedDevice find_unused(const DeviceInfo& device, const std::filesystem::path& state) {
  const auto listed = list_devices(device.id);
  return find_unused(device, {.listed = listed, .use_of = device_kind(device.kind).use_of}, state);
}

}  // namespace attune
