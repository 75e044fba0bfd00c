// SPDX-License-Identifier: MIT
#include "process/reap.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace attune {

std::optional<WaitStatus> reap(int descriptor) noexcept {
  siginfo_t info{};
  rusage usage{};
  int64_t failed = 0;
  do {
    // libc's waitid() does not return the usage.
    failed = ::syscall(SYS_waitid, kByDescriptor, descriptor, &info, WEXITED | WNOHANG, &usage);
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) return WaitStatus::of_lost();
  if (info.si_pid == 0) return std::nullopt;
  constexpr int kByte = 8, kCore = 0x80;  // Encoded like the status of wait().
  int word = info.si_status;
  if (info.si_code == CLD_EXITED) word <<= kByte;
  if (info.si_code == CLD_DUMPED) word |= kCore;
  return WaitStatus::of(word, usage);
}

}  // namespace attune
