// SPDX-License-Identifier: MIT
#include "compile/cache_lease.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "base/blocked_write_signals.h"
#include "base/text.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kLock = ".lock";
constexpr std::string_view kLease = ".lease-";
constexpr size_t kMaxLeaseBytes = 64 << 20;

/// Whether the lock was taken; tries for `wait_s`. Sets errno on failure.
bool locks(int descriptor, int operation, double wait_s) {
  const auto end = Clock::now() + std::chrono::duration<double>(wait_s);
  while (::flock(descriptor, operation | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK || Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

bool is_ended(int lease) {
  // A file system without locks has no leases.
  return locks(lease, LOCK_EX, 0) || errno != EWOULDBLOCK;
}

std::string content_of(int descriptor) {
  std::string content;
  char buffer[1 << 12];
  for (;;) {
    const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || content.size() > kMaxLeaseBytes) return content;
    content.append(buffer, static_cast<size_t>(count));
  }
}

}  // namespace

CacheLock::CacheLock(const fs::path& root, Use use, double wait_s)
    : descriptor_(::open((root / kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) {
  if (descriptor_ < 0) return;
  if (locks(descriptor_, use == Use::eviction ? LOCK_EX : LOCK_SH, wait_s))
    state_ = State::held;
  else if (errno == EWOULDBLOCK)
    state_ = State::busy;
}

CacheLock::~CacheLock() {
  if (descriptor_ < 0) return;
  // A child forked while the lock was held has the descriptor as well.
  ::flock(descriptor_, LOCK_UN);
  ::close(descriptor_);
}

CacheLease::~CacheLease() { end(); }

void CacheLease::end() {
  if (descriptor_ < 0) return;
  if (owner_ == ::getpid()) {
    ::unlink(file_.c_str());
    ::flock(descriptor_, LOCK_UN);
  }
  ::close(descriptor_);
  descriptor_ = -1;
}

std::unique_ptr<CacheLock> CacheLease::add(const cache_entry::Place& place) {
  const std::string name = place.name();
  const bool is_new = names_.insert(name).second;
  const bool was_written = is_written();
  if (!was_written) write();  // All names: the folder may have been removed.
  if (!is_new && was_written) return nullptr;
  auto lock = std::make_unique<CacheLock>(root_, CacheLock::Use::lease);
  if (was_written) append(name + '\n');
  return lock;
}

/// Whether the lease belongs to this process and its file still exists.
bool CacheLease::is_written() const {
  struct stat own {
  }, there{};
  return descriptor_ >= 0 && owner_ == ::getpid() && ::fstat(descriptor_, &own) == 0 &&
         ::lstat(file_.c_str(), &there) == 0 && own.st_ino == there.st_ino && own.st_dev == there.st_dev;
}

void CacheLease::write() {
  end();
  // Without this lock, another process could take the new file for a dead process's before it is locked.
  const CacheLock alone(root_, CacheLock::Use::eviction);
  if (alone.state() == CacheLock::State::unsupported) return;
  if (alone.state() == CacheLock::State::held) leased_entries(root_);
  std::string file = (root_ / kLease).string() + "XXXXXX";
  descriptor_ = ::mkostemp(file.data(), O_CLOEXEC | O_APPEND);
  if (descriptor_ < 0) return;
  file_ = file;
  owner_ = ::getpid();
  if (!locks(descriptor_, LOCK_EX, 0)) return end();
  std::string lines;
  for (const std::string& name : names_) lines += name + '\n';
  append(lines);
}

/// A full disk leaves an entry without its lease: it may be evicted, and is then compiled again.
void CacheLease::append(const std::string& lines) const {
  const BlockedWriteSignals blocked;
  [[maybe_unused]] const ssize_t written = ::write(descriptor_, lines.data(), lines.size());
}

std::set<std::string> leased_entries(const fs::path& root) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(root, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(kLease)) continue;
    const int descriptor = ::open(entry->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) continue;
    if (is_ended(descriptor)) {
      ::unlink(entry->path().c_str());
    } else {
      const std::string content = content_of(descriptor);
      for (const std::string_view name : split(content, '\n')) names.emplace(name);
    }
    ::close(descriptor);
  }
  return names;
}

}  // namespace attune
