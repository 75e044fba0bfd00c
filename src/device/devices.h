// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace attune {

/// The devices that a user chose.
struct DeviceChoice {
  std::string ids;              ///< `cpu:0,cpu:1`; empty: see device_ids().
  int64_t threads = 0;          ///< Thread limit of a host's device; 0: the process's own.
  uint64_t memory_reserve = 0;  ///< Bytes of each device's memory that problems leave free.
};

/// Devices of this machine, by id. Does not keep them open. A kind that cannot list its devices, or lists one of
/// another kind, has none; device_notices() reports it.
std::vector<DeviceInfo> list_devices();
/// Devices of the kind of an id. Does not call the drivers of other kinds. Empty for an unknown kind.
std::vector<DeviceInfo> list_devices(std::string_view id);
/// Returns a sentence for each fault of a kind of devices.
std::vector<std::string> device_notices();
/// Opens `cpu:0`, `fake:0`. `max_units`: limit on a host's units, the threads of its kernels; 0: the process's own
/// (device/host/host_device.h). Other devices ignore it. Throws invalid_input with the list for an unknown id;
/// unavailable when it cannot be opened.
std::unique_ptr<Device> open_device(std::string_view id, int64_t max_units = 0);
/// Returns the ids of a choice's devices: the ones that the user named. If there is only a thread limit, which is a
/// host's, returns `cpu:0`. Else applies the rule of device/default_devices.h: the devices whose architecture is in
/// `architectures`, the `gfx` of the command's rows; else all GPUs; else `cpu:0`. Only this rule opens drivers of GPUs.
std::string device_ids(const DeviceChoice& device, std::span<const std::string> architectures = {});
/// Returns the first of them, for a command that works on one device.
std::string device_id(const DeviceChoice& device, std::span<const std::string> architectures = {});
/// Prefix of ids for plain numbers, as in --gpu_ids: of the first kind that precedes the host and has devices here,
/// else of the first that precedes it in this build. Throws invalid_input when the build has none.
std::string_view preferred_prefix();
/// Throws invalid_input for a choice of several devices.
void check_is_one_device(const DeviceChoice& device);
/// Returns the description of the one device of a choice, the first default one if it names none; opens no device.
/// Throws invalid_input for several, for an unknown one, with the list, and for a thread limit above the process's own.
DeviceInfo find_device(const DeviceChoice& device);
/// Returns the thread limit of a choice on this host: the process's own, or a lower one that is chosen. Throws
/// invalid_input for a higher one.
int64_t thread_limit(const DeviceChoice& device);
/// Returns the flags with which a command runs on a device, given by its key: `--devices fake:0`. For a host's key with
/// other units than this process's own limit: `--devices cpu:0 --threads 1`. `devices`: of this machine, as
/// list_devices() returns them; the first with the key counts. The key of a device that this machine lacks gives
/// `--devices cpu:0`.
std::string device_flags(std::span<const DeviceInfo> devices, const std::string& key);

/// Looks up the devices of this machine by key. Asks one kind of device after the other until one has the key, so that
/// a host's key opens no driver.
class DeviceLookup {
 public:
  /// Returns the result of device_flags() for all devices of this machine.
  const std::string& flags(const std::string& key);

 private:
  std::map<std::string, std::string> flags_by_key_;
};

}  // namespace attune
