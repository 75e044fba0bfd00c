// SPDX-License-Identifier: MIT
#include "process/temporary_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/error.h"
#include "base/variable.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = ".lock";
/// A folder without a lock file belongs to a process that died in the microseconds between making the two, or is in
/// them.
constexpr std::time_t kAgeWithoutLock_s = 3600;

fs::path default_root() {
  const char* folder = variable_value("TMPDIR");
  return folder != nullptr && *folder == '/' ? folder : "/tmp";
}

/// Whether `folder` is an Attune folder whose process is gone. If true, `descriptor` holds the lock (−1: there is
/// none).
bool is_left_over(const fs::path& folder, int& descriptor) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid()) return false;
  descriptor = ::open((folder / kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return errno == ENOENT && std::time(nullptr) - status.st_mtime > kAgeWithoutLock_s;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
  ::close(descriptor);
  return false;
}

void remove_left_overs(const fs::path& root, const std::string& prefix) {
  std::error_code error;
  for (fs::directory_iterator entry(root, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(prefix)) continue;
    int descriptor = -1;
    if (!is_left_over(entry->path(), descriptor)) continue;
    std::error_code ignored;  // Another process may be removing the same folder.
    fs::remove_all(entry->path(), ignored);
    if (descriptor >= 0) ::close(descriptor);
  }
}

}  // namespace

TemporaryFolder::TemporaryFolder(std::string_view purpose, fs::path root) {
  if (root.empty()) root = default_root();
  const std::string prefix = fmt::format("attune-{}-", purpose);
  remove_left_overs(root, prefix);
  std::string name = (root / (prefix + "XXXXXX")).string();
  if (!::mkdtemp(name.data()))
    fail(ErrorCode::io, "cannot create a temporary folder ({}), set TMPDIR to another: '{}'", std::strerror(errno),
         root.string());
  path_ = name;
  // The file is first locked under another name: an unlocked lock file means that its process is gone.
  const fs::path unlocked = path_ / ".new";
  lock_ = ::open(unlocked.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (lock_ >= 0 && ::flock(lock_, LOCK_EX) == 0 && ::rename(unlocked.c_str(), (path_ / kLock).c_str()) == 0) return;
  const int reason = errno;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
  fail(ErrorCode::io, "cannot create a temporary folder ({}), set TMPDIR to another: '{}'", std::strerror(reason),
       root.string());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  ::close(lock_);
}

}  // namespace attune
