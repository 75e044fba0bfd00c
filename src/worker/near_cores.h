// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string_view>
#include <vector>

namespace attune {

/// Returns those of this process's cores that are nearest to a device on the PCI bus, `0000:3b:00.0`: those of its NUMA
/// node. Empty if all are equally near, if none of them is near, and where the system does not say. `root` stands for
/// `/`, for tests.
std::vector<int> cores_near(std::string_view pci_address, const std::filesystem::path& root = "/");

}  // namespace attune
