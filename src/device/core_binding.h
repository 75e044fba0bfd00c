// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace attune {

/// Binds the calling thread, and the processes it starts, to some cores for the life of the object. Does nothing for an
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

/// Lets the calling thread use all cores of the process for the life of the object: process_cores() and those of the
/// main thread. For loading a library and for starting a team. An OpenMP runtime computes its places from the mask of
/// the thread that loads it, and a new thread inherits the mask of the thread that starts it. If the application or
/// another runtime has bound that thread to one core, the whole team would share the core. Does nothing if the system
/// refuses. Takes about 30 µs.
class UnboundThread {
 public:
  /// Does nothing on a thread that may use `num_wanted` cores, such as the cores of a NUMA node for a team of that
  /// size.
  explicit UnboundThread(size_t num_wanted = std::numeric_limits<size_t>::max()) noexcept;

 private:
  std::optional<CoreBinding> binding_;
};

/// Binds the calling thread to cores permanently. Throws device when the system does not allow it.
void bind_to_cores(const std::vector<int>& cores);

}  // namespace attune
