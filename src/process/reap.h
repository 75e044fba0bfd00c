// SPDX-License-Identifier: MIT
#pragma once
#include <sys/wait.h>

#include <cstdint>

#include "process/wait_status.h"

namespace attune {

/// For waitid(): a child by its descriptor (pidfd). P_PIDFD of linux/wait.h; older libc headers lack it.
inline constexpr auto kByDescriptor = static_cast<idtype_t>(3);

/// What a look at a child found, and how it ended.
struct Reaped {
  enum class What : uint8_t { running, ended, lost };  ///< `lost`: somebody else reaped it, or SIGCHLD is ignored.
  What what = What::running;
  WaitStatus status;  ///< Of `ended`.
};

/// Reaps a child if it has ended; does not wait. By its descriptor: whatever became of its number, no other child is
/// touched. For processes whose other children are not ours.
Reaped reap(int descriptor) noexcept;

}  // namespace attune
