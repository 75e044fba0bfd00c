// SPDX-License-Identifier: MIT
#include "base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/blocked_write_signals.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/text.h"
#include "base/trusted_path.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kPermissionBits = 07777;

std::string reason(int error) { return std::strerror(error); }

/// Returns the file that a write to `path` replaces, with links followed. Throws io for a dangling link, and for one
/// that another user planted.
fs::path target_of(const fs::path& path) {
  check_not_planted(path);
  std::error_code error;
  if (!fs::is_symlink(fs::symlink_status(path, error))) return path;
  auto target = fs::canonical(path, error);
  // /dev/stdout leads to a pipe, which has no name: check_target() refuses it.
  if (error && fs::exists(path, error)) return path;
  if (error || target.empty())
    fail(ErrorCode::io, "cannot write through a dangling link, remove it or create its target: '{}'", path.string());
  return target;
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

/// Throws io unless a temporary file beside `target` may be renamed over it. Returns whether it exists.
bool check_target(const fs::path& target) {
  const fs::path folder = folder_of(target);
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) {
    fail(ErrorCode::io, "cannot write a file in a folder that does not exist, create it first: '{}'", folder.string());
  }
  if (!S_ISDIR(status.st_mode))
    fail(ErrorCode::io, "cannot write a file, its parent is not a folder: '{}'", folder.string());
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    if (errno == EACCES)
      fail(ErrorCode::io, "no permission to write in the folder, choose another or change its mode: '{}'",
           folder.string());
    fail(ErrorCode::io, "cannot write in the folder ({}), choose another: '{}'", reason(errno), folder.string());
  }
  if (::stat(target.c_str(), &status) != 0) return false;
  if (!S_ISREG(status.st_mode))
    fail(ErrorCode::io, "the output is not a regular file, name another: '{}'", target.string());
  if (::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0) {
    if (errno == EACCES)
      fail(ErrorCode::io, "the file is read-only, change its mode or name another one: '{}'", target.string());
    fail(ErrorCode::io, "cannot write the file ({}), name another one: '{}'", reason(errno), target.string());
  }
  return true;
}

[[noreturn]] void fail_write(const fs::path& target, int error) {
  if (error == ENOSPC || error == EDQUOT)
    fail(ErrorCode::io, "no space left to write the file, free some: '{}'", target.string());
  fail(ErrorCode::io, "cannot write the file ({}): '{}'", reason(error), target.string());
}

constexpr std::string_view kTemporaryEnd = ".tmp";

/// Prefix of the names of all temporary files of a target: `.t.csv.`; process and count follow. A name is at most 255
/// bytes.
std::string temporary_stem(const fs::path& target) {
  return fmt::format(".{}.", target.filename().string().substr(0, 200));
}

/// The process that wrote a temporary file of the target, by the file's name; nothing: it is not the name of one.
std::optional<pid_t> writer_of(std::string_view name, const fs::path& target) {
  const std::string stem = temporary_stem(target);
  if (!name.starts_with(stem) || !name.ends_with(kTemporaryEnd)) return std::nullopt;
  const auto parts = split(name.substr(stem.size()), '.');  // process, count, "tmp"
  const auto process = parse_int(parts.front());
  if (parts.size() != 3 || !process || *process <= 0 || !parse_int(parts[1])) return std::nullopt;
  return static_cast<pid_t>(*process);
}

/// A uniquely named file beside the target; removed unless it was renamed over the target.
class TemporaryFile {
 public:
  TemporaryFile(const fs::path& target, unsigned mode) : target_(target) {
    static std::atomic<unsigned> counter{0};
    // Process and counter make the name unique; the loop handles left-overs.
    while (descriptor_ < 0) {
      path_ =
          folder_of(target) / fmt::format("{}{}.{}{}", temporary_stem(target), ::getpid(), counter++, kTemporaryEnd);
      descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      if (descriptor_ < 0 && errno != EEXIST) fail_write(target_, errno);
    }
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  /// Copies mode and, where allowed, owner of the file that is replaced.
  void take_over(const struct stat& old) {
    if (old.st_uid != ::geteuid() || old.st_gid != ::getegid()) {
      // Only root may change the owner; any other user's copy is that user's own, as with any editor.
      [[maybe_unused]] const int ignored = ::fchown(descriptor_, old.st_uid, old.st_gid);
    }
    if (::fchmod(descriptor_, old.st_mode & kPermissionBits) != 0) fail_write(target_, errno);
  }

  void write(std::string_view content) {
    const BlockedWriteSignals blocked;
    while (!content.empty()) {
      const ssize_t written = ::write(descriptor_, content.data(), content.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail_write(target_, errno);
      content.remove_prefix(static_cast<size_t>(written));
    }
    if (::fsync(descriptor_) != 0) fail_write(target_, errno);
    // Some file systems report a full disk only here.
    if (::close(std::exchange(descriptor_, -1)) != 0) fail_write(target_, errno);
  }

  void rename_to_target() {
    if (::rename(path_.c_str(), target_.c_str()) != 0) fail_write(target_, errno);
    path_.clear();
  }

 private:
  fs::path target_, path_;
  int descriptor_ = -1;
};

/// A rename is durable only once the folder is synced.
void sync_folder(const fs::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // EINVAL: the file system does not support syncing a folder.
  if (descriptor.number() >= 0 && ::fsync(descriptor.number()) != 0 && errno != EINVAL) fail_write(folder, errno);
}

/// Whether this is an anonymous pipe, which is already open; a named pipe lies in a folder of a disk.
bool is_open_pipe(int descriptor, const struct stat& status) {
  constexpr auto kPipeFileSystem = 0x50495045;  // PIPEFS_MAGIC of linux/magic.h
  struct statfs system {};
  return S_ISFIFO(status.st_mode) && ::fstatfs(descriptor, &system) == 0 && system.f_type == kPipeFileSystem;
}

[[noreturn]] void fail_kind(const fs::path& path) {
  fail(ErrorCode::invalid_input, "expected a regular file, got a socket, a pipe or a device, name another: '{}'",
       path.string());
}

}  // namespace

FileReader::FileReader(const fs::path& path) : path_(path) {
  // O_NONBLOCK: opening a pipe without a writer would never return.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    const int error = errno;
    std::error_code ignored;
    if (error == ENOENT && fs::is_symlink(fs::symlink_status(path, ignored))) {
      fail(ErrorCode::invalid_input, "the link is dangling, name a file that exists: '{}'", path.string());
    }
    if (error == ENOENT || error == ENOTDIR)
      fail(ErrorCode::invalid_input, "there is no such file, check the path: '{}'", path.string());
    if (error == ELOOP)
      fail(ErrorCode::invalid_input, "the link points to itself, name a file that exists: '{}'", path.string());
    if (error == EACCES || error == EPERM)
      fail(ErrorCode::invalid_input,
           "no permission to read the file, change its mode or owner (or its folder's) or name another: '{}'",
           path.string());
    if (error == ENXIO) fail_kind(path);
    fail(ErrorCode::io, "cannot open the file ({}): '{}'", reason(error), path.string());
  }
  Descriptor opened(std::exchange(descriptor_, -1));
  struct stat status {};
  if (::fstat(opened.number(), &status) != 0)
    fail(ErrorCode::io, "cannot stat the file ({}): '{}'", reason(errno), path.string());
  if (S_ISDIR(status.st_mode))
    fail(ErrorCode::invalid_input, "expected a file, got a folder, name a file: '{}'", path.string());
  if (S_ISREG(status.st_mode))
    size_bytes_ = static_cast<uint64_t>(status.st_size);
  else if (!S_ISCHR(status.st_mode) && !is_open_pipe(opened.number(), status))
    fail_kind(path);
  if (::fcntl(opened.number(), F_SETFL, 0) != 0)
    fail(ErrorCode::io, "cannot set the file up for reading ({}): '{}'", reason(errno), path.string());
  descriptor_ = opened.release();
}

FileReader::~FileReader() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

size_t FileReader::read(std::span<char> buffer) {
  for (;;) {
    const ssize_t count = ::read(descriptor_, buffer.data(), buffer.size());
    if (count >= 0) return static_cast<size_t>(count);
    if (errno != EINTR) fail(ErrorCode::io, "cannot read the file ({}): '{}'", reason(errno), path_.string());
  }
}

std::string read_file_end(const fs::path& path, uint64_t max_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) return {};
  const auto size = static_cast<uint64_t>(status.st_size);
  std::string text(std::min(size, max_bytes), '\0');
  const ssize_t count = ::pread(file.number(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
  text.resize(count < 0 ? 0 : static_cast<size_t>(count));
  return text;
}

std::optional<std::string> read_file_if_any(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) return std::nullopt;
  std::string text;
  char part[4096];
  for (;;) {
    const ssize_t count = ::read(file.number(), part, sizeof part);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return text;
    text.append(part, static_cast<size_t>(count));
  }
}

bool write_own_file(const fs::path& path, std::string_view content) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  while (file.number() >= 0 && !content.empty()) {
    const ssize_t written = ::write(file.number(), content.data(), content.size());
    if (written < 0 && errno != EINTR) return false;
    content.remove_prefix(written < 0 ? 0 : static_cast<size_t>(written));
  }
  return file.number() >= 0;
}

std::string read_file(const fs::path& path, uint64_t max_bytes) {
  FileReader reader(path);
  const auto too_large = [&] {
    fail(ErrorCode::invalid_input,
         "the file is larger than the limit of {} bytes, check that it is the right one: '{}'", max_bytes,
         path.string());
  };
  if (reader.size_bytes() > max_bytes) too_large();
  std::string content;
  content.reserve(reader.size_bytes());
  std::vector<char> buffer(1 << 16);  // Not on the stack, which may be this small.
  while (const size_t count = reader.read(buffer)) {
    if (content.size() + count > max_bytes) too_large();
    content.append(buffer.data(), count);
  }
  return content;
}

void write_file_atomically(const fs::path& path, std::string_view content, unsigned mode) {
  const fs::path target = target_of(path);
  const bool exists = check_target(target);
  TemporaryFile temporary(target, mode);
  struct stat old {};
  if (exists && ::stat(target.c_str(), &old) == 0) temporary.take_over(old);
  temporary.write(content);
  temporary.rename_to_target();
  sync_folder(folder_of(target));
}

bool is_temporary_name(std::string_view name, const fs::path& target) { return writer_of(name, target).has_value(); }

void remove_stale_temporaries(const fs::path& path) {
  const fs::path target = target_of(path);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_of(target), ignored)) {
    const auto process = writer_of(entry.path().filename().string(), target);
    // A file of a live process is kept even if another program uses the same name.
    if (process && ::kill(*process, 0) != 0 && errno == ESRCH) fs::remove(entry.path(), ignored);
  }
}

FileLock::FileLock(const fs::path& path, Use use, double wait_s) {
  fs::path lock = target_of(path);
  auto mode = static_cast<mode_t>(use);
  if (struct stat locked{}; ::stat(lock.c_str(), &locked) == 0) mode &= locked.st_mode | S_IRUSR | S_IWUSR;
  lock += ".lock";
  descriptor_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);
  if (descriptor_ < 0) {
    const int error = errno;
    // A process that cannot write the lock file can still lock it.
    descriptor_ = ::open(lock.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor_ < 0)
      fail(ErrorCode::io, "cannot create the lock file ({}), check the folder's mode: '{}'", reason(error),
           lock.string());
  }
  // flock() has no timeout, so it is polled; 5 ms is short compared to a publication (two fsyncs).
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(wait_s);
  while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    if (error == EINTR) continue;
    if (error != EWOULDBLOCK || std::chrono::steady_clock::now() >= end) {
      ::close(std::exchange(descriptor_, -1));
      if (error != EWOULDBLOCK) fail(ErrorCode::io, "cannot lock the file ({}): '{}'", reason(error), lock.string());
      fail(ErrorCode::timeout, "another process has held the lock for {:g} s, end it or wait: '{}'", wait_s,
           lock.string());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

FileLock::~FileLock() {
  if (descriptor_ < 0) return;
  // A child forked meanwhile has the descriptor too, and would keep the lock as long as it lives.
  ::flock(descriptor_, LOCK_UN);
  ::close(descriptor_);
}

void check_writable(const fs::path& path) { check_target(target_of(path)); }

void check_not_planted(const fs::path& path) {
  if (const auto why = why_planted(path)) fail(ErrorCode::io, "{}", *why);
}

void make_private_folder(const fs::path& path) {
  check_not_planted(path);
  std::error_code error;
  if (fs::is_directory(path, error)) return;
  if (path.has_parent_path() && path.parent_path() != path) make_private_folder(path.parent_path());
  if (path.filename().empty()) return;  // `a/` means `a`.
  if (::mkdir(path.c_str(), 0700) != 0 && !(errno == EEXIST && fs::is_directory(path, error))) {
    fail(ErrorCode::io, "cannot create the folder ({}), choose another: '{}'", reason(errno), path.string());
  }
}

void check_output(const std::filesystem::path& path) {
  try {
    check_writable(path);
  } catch (const Error& error) {
    fail(ErrorCode::invalid_input, "{}", error.what());
  }
}

void check_output_folder(const std::filesystem::path& path) {
  std::filesystem::path folder = std::filesystem::absolute(path);
  // A link that leads nowhere is there: no folder can be made in its place.
  while (!std::filesystem::exists(std::filesystem::symlink_status(folder))) folder = folder.parent_path();
  if (!std::filesystem::is_directory(folder))
    fail(ErrorCode::invalid_input, "expected a folder, got a file, name another: '{}'", folder.string());
  if (const auto why = why_planted(path)) fail(ErrorCode::invalid_input, "{}", *why);
}

bool is_mounted_noexec(const fs::path& folder) {
  std::error_code error;
  fs::path nearest = fs::absolute(folder, error);
  while (!fs::exists(nearest, error) && nearest.has_relative_path()) nearest = nearest.parent_path();
  struct statvfs status {};
  return ::statvfs(nearest.c_str(), &status) == 0 && (status.f_flag & ST_NOEXEC) != 0;
}

FileStamp file_stamp(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return {.file = file};
  const auto ns = [](const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
  return {.file = file,
          .device = status.st_dev,
          .inode = status.st_ino,
          .size_bytes = static_cast<uint64_t>(status.st_size),
          .written_ns = ns(status.st_mtim),
          .changed_ns = ns(status.st_ctim)};
}

}  // namespace attune
