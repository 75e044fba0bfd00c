// SPDX-License-Identifier: MIT
#include "process/reap.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace attune {

Reaped reap(int descriptor) noexcept {
  siginfo_t info{};
  rusage usage{};
  int64_t failed = 0;
  do {
    // libc's waitid() has no place for the usage.
    failed = ::syscall(SYS_waitid, kByDescriptor, descriptor, &info, WEXITED | WNOHANG, &usage);
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) return {.what = Reaped::What::lost, .status = {}};
  if (info.si_pid == 0) return {};
  constexpr int kCore = 0x80;  // As in what wait() gives.
  const int word = info.si_code == CLD_EXITED   ? info.si_status << 8
                   : info.si_code == CLD_DUMPED ? info.si_status | kCore
                                                : info.si_status;
  return {.what = Reaped::What::ended, .status = WaitStatus::of(word, usage)};
}

}  // namespace attune
