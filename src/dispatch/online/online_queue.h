// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "core/device_info.h"
#include "ops/family.h"

namespace attune {

/// Shapes of one family that wait to be tuned.
struct WaitingShapes {
  const FamilySpec* family = nullptr;
  std::vector<Problem> problems;     ///< In the order of their arrival.
  std::vector<std::string> notices;  ///< One sentence for each line that is no shape.
};

/// The queue of shapes that wait for `attune online` on one device: a shape list for each family in
/// `<state>/online/<device>/`. Any process adds shapes; the tuning process removes them. Every change holds the file's
/// lock and replaces the file as a whole. A file without shapes is removed, so that listing the folder shows whether
/// shapes wait.
class OnlineQueue {
 public:
  /// Devices that differ in a key of the tables have separate queues, because machines may share a state folder.
  OnlineQueue(const std::filesystem::path& state, const DeviceInfo& device);

  const std::filesystem::path& folder() const noexcept { return folder_; }
  std::filesystem::path file(const FamilySpec& family) const;
  /// Path of the tuning process's log.
  const std::filesystem::path& log() const noexcept { return log_; }
  /// Path that names the FileLock of the tuning process.
  std::filesystem::path turn() const { return folder_ / "tuning"; }

  /// Throws like add_shapes().
  size_t add(const FamilySpec& family, std::span<const Problem> problems) const;
  /// Whether a shape list exists, readable or not. Opens no file; never throws.
  bool is_waiting() const noexcept;
  /// Returns all waiting shapes by family; unreadable lines and files are skipped and reported in `notices`. Throws io.
  std::vector<WaitingShapes> read() const;
  /// Removes shapes, and lines that are no shapes. A file that is no shape list at all is moved to `<file>.bad`. Throws
  /// io and timeout.
  void remove(const FamilySpec& family, std::span<const Problem> problems) const;

 private:
  std::filesystem::path folder_, log_;
};

}  // namespace attune
