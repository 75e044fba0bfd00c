// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>

namespace attune {

/// A private copy of a journal, for a reader who may not write beside it: SQLite needs files of its own there (a mount
/// that is read-only, another user's folder). Holds what the journal had when it was copied. Removed with the object.
class JournalCopy {
 public:
  /// Copies the file and its write-ahead log. Throws io when they cannot be read or there is no space.
  explicit JournalCopy(const std::filesystem::path& journal);
  ~JournalCopy();
  JournalCopy(const JournalCopy&) = delete;
  JournalCopy& operator=(const JournalCopy&) = delete;

  const std::filesystem::path& file() const noexcept { return file_; }

 private:
  std::filesystem::path folder_, file_;
};

}  // namespace attune
