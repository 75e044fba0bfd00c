// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <vector>

namespace attune {

/// Divides the cores this process may use into parts of equal size that lie close together (hwloc: packages, caches,
/// then cores), ascending in each part; cores that do not divide evenly are in no part. Throws invalid_input when there
/// are fewer cores than parts. Takes about 20 ms.
std::vector<std::vector<int>> partition_cores(size_t num_parts);

}  // namespace attune
