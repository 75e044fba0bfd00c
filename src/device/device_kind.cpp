// SPDX-License-Identifier: MIT
#include "device/device_kind.h"

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "base/mutex.h"

namespace attune {

std::vector<DeviceKind> built_device_kinds();

namespace {

/// The kinds of this process.
struct KindList {
  Mutex mutex;
  std::vector<DeviceKind> kinds ATTUNE_GUARDED_BY(mutex) = built_device_kinds();
  bool is_fixed ATTUNE_GUARDED_BY(mutex) = false;

  static KindList& get() {
    static KindList& list = *new KindList;  // Never destroyed: the process may end while a thread uses it.
    return list;
  }
};

constinit std::atomic<void (*)()> device_loader{nullptr};

std::span<const DeviceKind> fix_kinds() {
  if (const auto load = device_loader.load()) load();
  KindList& list = KindList::get();
  const Lock lock(list.mutex);
  // Hosts first: a search through the kinds then opens no driver if another kind has the answer.
  std::ranges::stable_partition(list.kinds, [](const DeviceKind& kind) { return !kind.precedes_host; });
  list.is_fixed = true;  // Callers keep references.
  return list.kinds;
}

bool has_name(const DeviceKind& kind, std::string_view name) { return kind.name == name; }

}  // namespace

std::span<const DeviceKind> device_kinds() {
  static const std::span<const DeviceKind> all = fix_kinds();
  return all;
}

void set_device_loader(void (*load)()) noexcept { device_loader = load; }

void register_device_kind(const DeviceKind& kind) {
  if (kind.name.empty() || kind.list == nullptr || kind.open == nullptr)
    fail(ErrorCode::invalid_input, "a kind of device has a name, and lists and opens its devices: '{}'", kind.name);
  KindList& list = KindList::get();
  const Lock lock(list.mutex);
  if (std::ranges::any_of(list.kinds, [&](const DeviceKind& one) { return has_name(one, kind.name); }))
    fail(ErrorCode::invalid_input, "a kind of device has this name already: '{}'", kind.name);
  if (list.is_fixed)
    fail(ErrorCode::invalid_input, "a kind of device is registered before the first use of a device, too late for '{}'",
         kind.name);
  list.kinds.push_back(kind);
}

void withdraw_device_kind(std::string_view name) noexcept {
  KindList& list = KindList::get();
  const Lock lock(list.mutex);
  if (!list.is_fixed) std::erase_if(list.kinds, [&](const DeviceKind& one) { return has_name(one, name); });
}

const DeviceKind* find_device_kind(std::string_view id) {
  const std::string_view prefix = id.substr(0, id.find(':'));
  const auto kinds = device_kinds();
  const auto found = std::ranges::find_if(
      kinds, [&](const DeviceKind& kind) { return (kind.prefix.empty() ? kind.name : kind.prefix) == prefix; });
  return found == kinds.end() ? nullptr : &*found;
}

bool units_are_cores(const DeviceInfo& device) {
  return std::ranges::any_of(
      device_kinds(), [&](const DeviceKind& kind) { return has_name(kind, device.kind) && kind.units_are_cores; });
}

bool units_are_cores(std::string_view id) {
  const DeviceKind* const kind = find_device_kind(id);
  return kind != nullptr && kind->units_are_cores;
}

const void* kernel_image(std::span<const KernelImage> built, std::string_view kernel, std::string_view kind) {
  if (const void* const image = image_for(built, kind)) return image;
  const auto brought = device_kind(kind).kernels;
  const auto found = std::ranges::find_if(brought, [&](const KindKernel& one) { return one.name == kernel; });
  return found == brought.end() ? nullptr : found->image;
}

const DeviceKind& device_kind(std::string_view name) {
  const auto kinds = device_kinds();
  const auto found = std::ranges::find_if(kinds, [&](const DeviceKind& one) { return has_name(one, name); });
  ATTUNE_CHECK(found != kinds.end(), "kind of device {}", name);
  return *found;
}

}  // namespace attune
