// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace attune {

/// The application id in the header of a journal ("Attu").
inline constexpr uint32_t kJournalApplicationId = 0x41747475;

/// A file that is known to be a journal: its application id was read from a descriptor, and no link was followed. The
/// descriptor stays open with the object, and all objects of one file in a process share it: closing any descriptor of
/// a SQLite file drops the locks that other connections of the process hold, and an open one keeps the file's number
/// from naming another. So it has to outlive every connection to the file. May be used by several threads.
class JournalFile {
 public:
  /// For a writer. A file that is not there is created, private (0600, its folder 0700), empty and with the application
  /// id. One of this user that others may read is made private, with what SQLite keeps beside it (-wal, -shm). Throws
  /// invalid_input, with the file's mode, bytes and times as they were, for a link, for what is no plain file or no
  /// journal, and when such lies where SQLite would write beside the journal; io when it cannot be created or opened.
  static std::shared_ptr<const JournalFile> claim(const std::filesystem::path& file);
  /// For a reader: changes nothing. Throws as claim(), and not_found when the file is not there.
  static std::shared_ptr<const JournalFile> find(const std::filesystem::path& file);

  ~JournalFile();
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  /// Throws Error{database} when the path names another file by now, or none: what is written would be lost. About 1
  /// µs.
  void check_in_place() const;

 private:
  JournalFile(const std::filesystem::path& file, int descriptor);
  static std::shared_ptr<JournalFile> open(const std::filesystem::path& file);
  void make_private();

  std::filesystem::path file_;
  const int descriptor_;
  // Used under the lock of the list of open journals.
  std::vector<int> beside_;                            ///< Of -wal and -shm.
  std::vector<std::shared_ptr<JournalFile>> further_;  ///< Of the same file, when it was opened once too often.
};

}  // namespace attune
