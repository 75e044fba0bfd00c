// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"

namespace attune {

/// Keeps devices for one agent of this user on this host, for the life of the object: two agents on a GPU would disturb
/// each other's measurements. Also effective between containers that share the folder.
class DeviceLocks {
 public:
  /// `names`: lock_name() of each device. Makes the folder. Throws invalid_input, naming the device, if another agent
  /// has it; io if the folder cannot be written.
  explicit DeviceLocks(const std::vector<std::string>& names, const std::filesystem::path& folder = default_folder());
  /// `/tmp/attune-devices-UID`.
  static std::filesystem::path default_folder();

 private:
  std::vector<std::unique_ptr<FileLock>> locks_;
};

/// The name under which a device is locked: its PCI address where it has one, because ids depend on the visible
/// devices. Empty for a device that agents may share: the host's, where an agent waits until the machine is quiet, and
/// copies.
std::string lock_name(const std::string& id);

}  // namespace attune
