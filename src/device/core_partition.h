// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <vector>

namespace attune {

/// The cores this process may use, cut into parts of equal size that lie close together (hwloc: packages, caches, then
/// cores), ascending in each part; what does not divide evenly belongs to none. Throws invalid_input when there are
/// fewer cores than parts. About 20 ms.
std::vector<std::vector<int>> partition_cores(size_t num_parts);

/// Keeps the calling thread, and the processes it starts, to some cores for the life of the object; nothing for none.
class CoreBinding {
 public:
  explicit CoreBinding(const std::vector<int>& cores);
  ~CoreBinding();
  CoreBinding(const CoreBinding&) = delete;
  CoreBinding& operator=(const CoreBinding&) = delete;

 private:
  std::vector<int> before_;
};

/// The calling thread's cores from now on. Throws device when the system does not allow it.
void bind_to_cores(const std::vector<int>& cores);

}  // namespace attune
