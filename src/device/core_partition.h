// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <vector>

namespace attune {

/// Divides the cores this process may use into parts of equal size that lie close together (hwloc: packages, caches,
/// then cores), ascending in each part; cores that do not divide evenly are in no part. Throws invalid_input when there
/// are fewer cores than parts. Takes about 20 ms.
std::vector<std::vector<int>> partition_cores(size_t num_parts);

/// Binds the calling thread, and the processes it starts, to some cores for the life of the object; does nothing for an
/// empty list.
class CoreBinding {
 public:
  explicit CoreBinding(const std::vector<int>& cores);
  ~CoreBinding();
  CoreBinding(const CoreBinding&) = delete;
  CoreBinding& operator=(const CoreBinding&) = delete;

 private:
  std::vector<int> before_;
};

/// Binds the calling thread to cores permanently. Throws device when the system does not allow it.
void bind_to_cores(const std::vector<int>& cores);

}  // namespace attune
