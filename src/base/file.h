// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace attune {

/// Reads a file, a pipe that is open already (`/dev/stdin`, `<(…)`) or a character device piece by piece. Throws
/// invalid_input for a missing file, a dangling link and what is no such file (a folder, a socket, a named pipe, which
/// might never end); io when it cannot be opened or read. Messages name the path.
class FileReader {
 public:
  explicit FileReader(const std::filesystem::path& path);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;
  /// Bytes read; 0 at the end.
  size_t read(std::span<char> buffer);
  uint64_t size_bytes() const noexcept { return size_bytes_; }  ///< 0 for a pipe or a device.

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  uint64_t size_bytes_ = 0;
};

/// The whole file. Throws as FileReader, and invalid_input for more than `max_bytes`, before reading further.
std::string read_file(const std::filesystem::path& path, uint64_t max_bytes = 1ull << 30);

/// Writes to a temporary file in the same folder, syncs file and folder and renames: readers see the old content or the
/// new, never a part. Keeps an existing file's mode (`mode` less the umask for a new one); follows a symbolic link to
/// the file it names. Throws io, leaving nothing behind: a missing or unwritable folder, a read-only file, a dangling
/// link, something that is not a plain file, a full disk.
void write_file_atomically(const std::filesystem::path& path, std::string_view content, unsigned mode = 0644);

/// An advisory lock on `<path>.lock` beside the file (flock; links are followed, so all names of a file share one);
/// held for the life of the object. Waits up to `wait_s`, then throws timeout naming the file. The lock file stays:
/// removing it would race.
class FileLock {
 public:
  /// The mode of the lock file when it is new, less the umask. Nobody else may lock a private file; what is `shared`
  /// may be published by whoever may write in the folder, unless the file is there and grants others less.
  enum class Use : uint16_t { alone = 0600, shared = 0666 };

  explicit FileLock(const std::filesystem::path& path, Use use = Use::alone, double wait_s = 60);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

/// Removes temporary files that write_file_atomically() left beside `path` when its process was killed. To be called
/// under the file's lock: then nobody else writes one, whatever the process ids in their names say.
void remove_stale_temporaries(const std::filesystem::path& path);

/// Throws io with one sentence unless write_file_atomically() could write there, as far as can be told without writing.
void check_writable(const std::filesystem::path& path);

/// Creates a private folder (0700) with its parents; one that exists is left as it is. Throws io.
void make_private_folder(const std::filesystem::path& path);

}  // namespace attune
