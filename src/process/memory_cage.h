// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace attune {

/// A limit on the memory that a process and all it starts have together, kept by the kernel: a cgroup (v2) made for one
/// life of a child. Beyond it the kernel kills the whole family; nothing is swapped. Needs a cgroup that may be written
/// to, with the memory controller: rare in containers, common for root and in a desktop session; elsewhere the caller
/// uses ProcessLimits. One thread; a few ms to make and to remove.
///
/// The cgroup is made below ours, or beside it (a cgroup with processes in it can seldom have limited ones below) if
/// ours has no limit that the child would escape.
class MemoryCage {
 public:
  /// `group`: the folder of our own cgroup. What killed processes left behind there is removed first.
  explicit MemoryCage(uint64_t bytes, const std::optional<std::filesystem::path>& group = own_cgroup());
  /// Kills who is left in it and removes it.
  ~MemoryCage();
  MemoryCage(const MemoryCage&) = delete;
  MemoryCage& operator=(const MemoryCage&) = delete;

  bool available() const noexcept { return descriptor_ >= 0; }
  const std::string& reason() const noexcept { return reason_; }  ///< Why it is not; empty when it is.
  int descriptor() const noexcept { return descriptor_; }         ///< For ChildCommand::cgroup.
  /// Whether the kernel has killed somebody in it for memory.
  bool killed() const;

  static std::optional<std::filesystem::path> own_cgroup();  ///< Nothing where no cgroup (v2) is mounted.

 private:
  bool build(const std::filesystem::path& parent, uint64_t bytes);
  void remove() noexcept;

  std::filesystem::path leaf_;
  int lock_ = -1;  ///< On the leaf's folder: says that it is in use.
  int descriptor_ = -1;
  std::string reason_;
};

}  // namespace attune
