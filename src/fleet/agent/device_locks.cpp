// SPDX-License-Identifier: MIT
#include "fleet/agent/device_locks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "device/device_kind.h"

namespace attune {

DeviceLocks::DeviceLocks(const std::vector<std::string>& names, const std::filesystem::path& folder) {
  if (names.empty()) return;
  make_private_folder(folder);
  for (const std::string& name : names) {
    try {
      locks_.push_back(std::make_unique<FileLock>(folder / name, FileLock::Use::alone, 0));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::timeout) throw;
      fail(ErrorCode::invalid_input, "another agent works on this device, choose others with --devices: {}", name);
    }
  }
}

std::filesystem::path DeviceLocks::default_folder() {
  // The same with and without a login: agents under Slurm have none.
  return fmt::format("/tmp/attune-devices-{}", ::getuid());
}

std::string lock_name(const std::string& id) {
  const DeviceKind* const kind = find_device_kind(id);
  if (kind == nullptr || kind->units_are_cores || kind->numbers != DeviceNumbers::devices) return "";
  std::string name = kind->pci_address != nullptr ? kind->pci_address(id) : std::string();
  if (name.empty()) name = id;
  std::ranges::replace(name, '/', '-');
  return name;
}

}  // namespace attune
