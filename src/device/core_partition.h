// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <filesystem>
#include <vector>

namespace attune {

/// Divides the cores this process may use into parts of equal size, each ascending. The cores of a part lie close
/// together, by sysfs: packages, NUMA nodes, dies, third-level caches, then cores. If the cores do not divide evenly,
/// the rest is in no part. Throws invalid_input when there are fewer cores than parts. Takes about 50 µs a core.
std::vector<std::vector<int>> partition_cores(size_t num_parts);

/// The same for these cores. `root` stands for `/`, for tests.
std::vector<std::vector<int>> partition_cores(std::vector<int> cores, size_t num_parts,
                                              const std::filesystem::path& root);

}  // namespace attune
