// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace attune {

/// A limit on the total memory of a process and its descendants, enforced by the kernel: a cgroup (v2) made for the
/// life of one child. Beyond it the kernel kills all these processes; nothing is swapped. Needs a writable cgroup with
/// the memory controller: rare in containers, common for root and in a desktop session; otherwise the caller uses
/// ProcessLimits. Single-threaded; takes a few ms to make and to remove.
///
/// The cgroup is made below this process's, or beside it (a cgroup that contains processes can seldom have limited
/// children) if this process's has no limit that the child would escape.
class MemoryCgroup {
 public:
  /// `group`: folder of this process's cgroup. Cgroups left in it by killed processes are removed first.
  explicit MemoryCgroup(uint64_t bytes, const std::optional<std::filesystem::path>& group = own_cgroup());
  /// Kills the remaining processes and removes the cgroup.
  ~MemoryCgroup();
  MemoryCgroup(const MemoryCgroup&) = delete;
  MemoryCgroup& operator=(const MemoryCgroup&) = delete;

  bool available() const noexcept { return descriptor_ >= 0; }
  const std::string& reason() const noexcept { return reason_; }  ///< Why it is unavailable; empty if it is available.
  int descriptor() const noexcept { return descriptor_; }         ///< For ChildCommand::cgroup.
  /// Whether the kernel has killed a process in it for memory.
  bool killed() const;

  static std::optional<std::filesystem::path> own_cgroup();  ///< Empty where no cgroup (v2) is mounted.

 private:
  bool build(const std::filesystem::path& parent, uint64_t bytes);
  void remove() noexcept;

  std::filesystem::path leaf_;
  int lock_ = -1;  ///< Lock on the leaf's folder; it marks the cgroup as in use.
  int descriptor_ = -1;
  std::string reason_;
};

}  // namespace attune
