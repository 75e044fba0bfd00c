// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string_view>
#include <vector>

namespace attune {

/// Returns this process's cores on the NUMA node of a device on the PCI bus, `0000:3b:00.0`. Empty if all are on it, if
/// none is, and if the system does not tell. `root` stands for `/`, for tests.
std::vector<int> cores_near(std::string_view pci_address, const std::filesystem::path& root = "/");

}  // namespace attune
