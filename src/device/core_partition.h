// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <optional>
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

/// Lets the calling thread use all cores of the process (process_cores()) for the life of the object, while it loads a
/// library: an OpenMP runtime computes its places from the mask of the thread that loads it, and another runtime may
/// have bound that thread to one core. The teams of all callers would then share that core. Does nothing where the
/// system refuses it.
class UnboundThread {
 public:
  UnboundThread() noexcept;

 private:
  std::optional<CoreBinding> binding_;
};

/// Binds the calling thread to cores permanently. Throws device when the system does not allow it.
void bind_to_cores(const std::vector<int>& cores);

}  // namespace attune
