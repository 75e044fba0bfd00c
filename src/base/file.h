// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attune {

/// Reads a file, an open pipe (`/dev/stdin`, `<(…)`) or a character device piece by piece. Throws invalid_input for a
/// missing file, a dangling link, a file that this user may not read, and other kinds of files (a folder, a socket, or
/// a named pipe, which might never end); io when it cannot be opened or read. Messages name the path.
class FileReader {
 public:
  explicit FileReader(const std::filesystem::path& path);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;
  /// Returns the number of bytes read; 0 at the end.
  size_t read(std::span<char> buffer);
  uint64_t size_bytes() const noexcept { return size_bytes_; }  ///< 0 for a pipe or a device.

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  uint64_t size_bytes_ = 0;
};

/// Returns the whole file. Throws like FileReader, and invalid_input for more than `max_bytes`, before reading further.
std::string read_file(const std::filesystem::path& path, uint64_t max_bytes = 1ull << 30);
/// Returns the last `max_bytes` of a file, or all of it. Empty for a file that cannot be read.
std::string read_file_end(const std::filesystem::path& path, uint64_t max_bytes);

/// Returns the whole of a small file, one of /proc or /sys for example; nothing if it cannot be read. This library has
/// no std::ifstream: streams hold a std::locale, of which a process must have one implementation (docs/adr/0031).
std::optional<std::string> read_file_if_any(const std::filesystem::path& path);
/// Writes a file that no other process reads yet. Returns false, with errno, if it cannot.
bool write_own_file(const std::filesystem::path& path, std::string_view content);

/// Writes to a temporary file in the same folder, syncs file and folder and renames: readers see the old content or the
/// new, never a part. Keeps an existing file's mode (a new file gets `mode` less the umask); a symbolic link is
/// followed to its target. Throws io and leaves nothing behind on failure: a missing or unwritable folder, a read-only
/// file, a dangling link, a link that another user planted, a target that is not a plain file, a full disk.
void write_file_atomically(const std::filesystem::path& path, std::string_view content, unsigned mode = 0644);

/// An advisory lock on `<path>.lock` beside the file (flock; links are followed, so all names of a file share one
/// lock), held for the life of the object. Waits up to `wait_s`, then throws timeout naming the file. The lock file
/// stays: removing it would race.
class FileLock {
 public:
  /// Mode of a new lock file, less the umask. `alone`: no other user may lock a private file. `shared`: every user who
  /// may write in the folder may lock it, unless an existing lock file grants less.
  enum class Use : uint16_t { alone = 0600, shared = 0666 };

  explicit FileLock(const std::filesystem::path& path, Use use = Use::alone, double wait_s = 60);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

/// Whether a name is that of a temporary file which write_file_atomically() makes beside `target`. Follows no link.
bool is_temporary_name(std::string_view name, const std::filesystem::path& target);
/// Removes temporary files that a killed write_file_atomically() left beside `path`. Requires: the caller holds the
/// file's lock; no other process then writes one, whatever the process ids in the names are.
void remove_stale_temporaries(const std::filesystem::path& path);

/// Throws io with one sentence unless write_file_atomically() could write there, as far as this is known without
/// writing.
void check_writable(const std::filesystem::path& path);
/// Throws invalid_input unless a file can be written there. A wrong path is the user's error; a disk that fills up
/// later is not.
void check_output(const std::filesystem::path& path);

/// Whether no program or library may be loaded from a folder, which need not exist yet: its mount has `noexec`.
bool is_mounted_noexec(const std::filesystem::path& folder);

/// Throws io if a path leads through a link that another user planted (why_planted()).
void check_not_planted(const std::filesystem::path& path);

/// Throws invalid_input unless a folder is there or can be made.
void check_output_folder(const std::filesystem::path& path);

/// Creates a private folder (0700) with its parents; an existing folder is left unchanged. Throws io, also for a link
/// that another user planted.
void make_private_folder(const std::filesystem::path& path);

/// What changes when somebody writes a file, or puts another in its place.
struct FileStamp {
  std::filesystem::path file;
  dev_t device = 0;
  ino_t inode = 0;  ///< 0, like all that follows, if there is no such file.
  uint64_t size_bytes = 0;
  int64_t written_ns = 0, changed_ns = 0;  ///< Of the content; of it, its mode or its names.
  bool operator==(const FileStamp&) const = default;
};

/// Follows links. Takes a system call. Thread-safe.
FileStamp file_stamp(const std::filesystem::path& file);

}  // namespace attune
