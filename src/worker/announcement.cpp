// SPDX-License-Identifier: MIT
#include "worker/announcement.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>

#include "base/error.h"

namespace attune {
namespace {

constexpr size_t kPageBytes = 4096;

/// Bytes of the page. The writer increments `num_begins` before a change and `num_ends` after it. The reader reads them
/// in the reverse order, so that equal counts mean that nothing changed in between.
struct PageContent {
  uint32_t num_begins = 0;
  uint32_t slot = 0;
  int64_t limit_ms = 0;
  uint64_t began_ns = 0;
  uint32_t answering = 0;
  uint32_t num_ends = 0;
};

/// On Linux the steady clock is the monotonic one, which the processes of a machine share.
uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace

AnnouncementPage::AnnouncementPage()
    : descriptor_(::memfd_create("attune-announcements", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (descriptor_ < 0 || ::ftruncate(descriptor_, kPageBytes) != 0)
    fail(ErrorCode::device, "cannot share memory with a worker ({})", std::strerror(errno));
  ::fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

AnnouncementPage::~AnnouncementPage() { ::close(descriptor_); }

Announcement AnnouncementPage::read() {
  constexpr int kTries = 1000;  // a write takes a few microseconds
  PageContent written;
  for (int i = 0; i < kTries; ++i) {
    uint32_t num_ends = 0, num_begins = 0;
    const bool read =
        ::pread(descriptor_, &num_ends, sizeof num_ends, offsetof(PageContent, num_ends)) == sizeof num_ends &&
        ::pread(descriptor_, &written, sizeof written, 0) == sizeof written &&
        ::pread(descriptor_, &num_begins, sizeof num_begins, offsetof(PageContent, num_begins)) == sizeof num_begins;
    if (read && num_ends == num_begins) {
      last_ = {written.slot, Milliseconds(written.limit_ms), written.began_ns, written.answering != 0};
      break;
    }
  }
  return last_;
}

void AnnouncementPage::clear() {
  last_ = {};
  const PageContent nothing;
  if (::pwrite(descriptor_, &nothing, sizeof nothing, 0) != sizeof nothing)
    fail(ErrorCode::device, "cannot share memory with a worker ({})", std::strerror(errno));
}

PageAnnouncer::PageAnnouncer(int page, int channel)
    : page_(::mmap(nullptr, kPageBytes, PROT_READ, MAP_SHARED, page, 0)),
      channel_(channel),
      key_(::pkey_alloc(0, PKEY_DISABLE_WRITE)) {
  if (page_ == MAP_FAILED) fail(ErrorCode::device, "cannot map the page of announcements");
  ::close(page);
  if (key_ < 0 || ::pkey_mprotect(page_, kPageBytes, PROT_READ | PROT_WRITE, key_) == 0) return;
  ::pkey_free(key_);
  key_ = -1;
}

PageAnnouncer::~PageAnnouncer() {
  ::munmap(page_, kPageBytes);
  if (key_ >= 0) ::pkey_free(key_);
}

void PageAnnouncer::allow_writing(bool allowed) noexcept {
  if (key_ >= 0)
    ::pkey_set(key_, allowed ? 0 : PKEY_DISABLE_WRITE);
  else
    ::mprotect(page_, kPageBytes, allowed ? PROT_READ | PROT_WRITE : PROT_READ);
}

/// Unread bytes cannot be the worker's: the supervisor reads answers at once, and nothing else.
void PageAnnouncer::check_channel() const {
  int unread = 0;
  if (::ioctl(channel_, SIOCOUTQ, &unread) == 0 && unread == 0) return;
  constexpr std::string_view kWhy = "the candidate closed the worker's channel or wrote to it\n";
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, kWhy.data(), kWhy.size());
  ::_exit(1);
}

void PageAnnouncer::end_worker(const std::string& why) noexcept {
  ::dprintf(STDERR_FILENO, "%s\n", why.c_str());
  ::_exit(1);
}

void PageAnnouncer::write(const Announcement& announcement) {
  check_channel();
  ++count_;
  auto* written = static_cast<volatile PageContent*>(page_);
  allow_writing(true);
  written->num_begins = count_;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  written->slot = announcement.slot;
  written->limit_ms = announcement.limit.count();
  written->began_ns = now_ns();
  written->answering = announcement.answering ? 1 : 0;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  written->num_ends = count_;
  allow_writing(false);
}

}  // namespace attune
