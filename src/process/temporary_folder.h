// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string_view>

namespace attune {

/// A private folder (0700) for temporary files, removed with its content by the destructor. The folder of a killed
/// process is removed when the next folder of the same purpose is made: a lock file in each folder shows whether its
/// process lives. Process numbers cannot show that (they are reused, and differ between containers that share a disk).
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
