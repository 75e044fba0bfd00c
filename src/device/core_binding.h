// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <vector>

namespace attune {

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
