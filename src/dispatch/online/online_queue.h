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
  std::vector<Problem> problems;     ///< In the order they came.
  std::vector<std::string> notices;  ///< Lines that are no shape: one sentence each.
};

/// The shapes that wait for `attune online` on one device: a list of shapes for each family in
/// `<state>/online/<device>/`. Any process adds, the tuning one removes; every change is made under the file's lock and
/// replaces the file as a whole. A file without shapes is removed, so that a look at the folder says whether any wait.
class OnlineQueue {
 public:
  /// Devices that differ in what tables are keyed by have queues of their own: a state folder may be shared by
  /// machines.
  OnlineQueue(const std::filesystem::path& state, const DeviceInfo& device);

  const std::filesystem::path& folder() const noexcept { return folder_; }
  std::filesystem::path file(const FamilySpec& family) const;
  /// The tuning process writes all it says there.
  const std::filesystem::path& log() const noexcept { return log_; }
  /// What FileLock of the process that tunes is named after.
  std::filesystem::path turn() const { return folder_ / "tuning"; }

  /// Throws as add_shapes().
  size_t add(const FamilySpec& family, std::span<const Problem> problems) const;
  /// Some shape waits, or a file that is none. Opens nothing; never throws.
  bool is_waiting() const noexcept;
  /// All that wait, by family; what cannot be read is left out and said. Throws io.
  std::vector<WaitingShapes> read() const;
  /// Takes shapes out, and lines that are none. A file that is no list of shapes at all is moved to `<file>.bad`.
  /// Throws io, timeout.
  void remove(const FamilySpec& family, std::span<const Problem> problems) const;

 private:
  std::filesystem::path folder_, log_;
};

}  // namespace attune
