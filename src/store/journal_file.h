// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace attune {

/// The application id in the header of a journal ("Attu").
inline constexpr uint32_t kJournalApplicationId = 0x41747475;

/// A file known to be a journal: its application id was read from a descriptor, and no link was followed. The
/// descriptor stays open with the object, and all objects of one file in a process share it. Closing any descriptor of
/// a SQLite file drops the locks of the process's other connections, and an open descriptor keeps the inode number from
/// being reused. The object must therefore outlive every connection to the file. Thread-safe.
class JournalFile {
 public:
  /// Opens a journal for writing. A missing file is created, private (0600, its folder 0700), empty and with the
  /// application id. A file of this user that others may read is made private, together with SQLite's files beside it
  /// (-wal, -shm). Throws invalid_input for a link, for anything other than a plain file or a journal, and for a
  /// foreign file where SQLite would write beside the journal; mode, bytes and times of the file are then unchanged.
  /// Throws invalid_input for a file that this user may not open, io when it cannot be created or opened otherwise.
  static std::shared_ptr<const JournalFile> claim(const std::filesystem::path& file);
  /// Opens a journal for reading; changes nothing. Throws what claim() throws, and not_found when the file does not
  /// exist.
  static std::shared_ptr<const JournalFile> find(const std::filesystem::path& file);

  ~JournalFile();
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  /// Whether the path still names this file. Takes about 1 µs.
  bool is_in_place() const noexcept;
  /// Whether the file system grants locks, which an NFS mount without its lock daemon does not.
  bool grants_locks() const noexcept;
  /// Throws Error{database} unless it does: SQLite would take each refused lock for one that another process holds.
  void check_locks() const;
  /// Throws Error{database} unless it is, because further writes would be lost.
  void check_in_place() const;

 private:
  JournalFile(const std::filesystem::path& file, int descriptor);
  static std::shared_ptr<JournalFile> open(const std::filesystem::path& file);
  void make_private();

  std::filesystem::path file_;
  const int descriptor_;
  // Guarded by the lock of the list of open journals.
  std::vector<int> beside_;  ///< Descriptors of -wal and -shm.
  /// Surplus objects of the same file, opened in a race; kept so that no descriptor is closed early.
  std::vector<std::shared_ptr<JournalFile>> further_;
};

}  // namespace attune
