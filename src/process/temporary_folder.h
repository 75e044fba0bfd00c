// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string_view>

namespace attune {

/// A folder of its own (0700) for files that no other process needs, removed with all it holds at the end of the
/// object. What a process that was killed left behind is removed when the next folder of the same purpose is made: a
/// lock file in each folder says whether its process lives, which process numbers cannot (they are reused, and differ
/// between containers that share a disk).
class TemporaryFolder {
 public:
  /// `<root>/attune-<purpose>-XXXXXX`; `root` empty: $TMPDIR, else /tmp. Throws io.
  explicit TemporaryFolder(std::string_view purpose, std::filesystem::path root = {});
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace attune
