// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

namespace attune {

/// The children of this process that belong to a Child: spawn() made them and nobody has reaped them yet. Any thread.
class OwnedChildren {
 public:
  static OwnedChildren& instance();

  /// Held from before a child is made until it was added: to whoever holds pause(), no child is without its owner.
  std::shared_lock<std::shared_mutex> birth() { return std::shared_lock(births_); }
  std::unique_lock<std::shared_mutex> pause() { return std::unique_lock(births_); }
  void add(pid_t pid);
  void remove(pid_t pid) noexcept;  ///< After reaping.
  bool contains(pid_t pid) const;

 private:
  std::shared_mutex births_;
  mutable std::mutex mutex_;
  std::vector<pid_t> pids_;
};

/// All children of this process, zombies too, from the kernel's list for each thread; nothing where the kernel was
/// built without these. 10 µs.
std::optional<std::vector<pid_t>> listed_children();
/// The same from the parent of every process of the machine: some 5 µs for each.
std::vector<pid_t> scanned_children();

}  // namespace attune
