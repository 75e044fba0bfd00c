// SPDX-License-Identifier: MIT
#pragma once
#include <sys/wait.h>

#include <optional>

#include "process/wait_status.h"

namespace attune {

/// For waitid(): a child by its descriptor (pidfd). P_PIDFD of linux/wait.h; older libc headers lack it.
inline constexpr auto kByDescriptor = static_cast<idtype_t>(3);

/// Reaps a child if it has ended; nothing while it runs. Does not wait. By its descriptor: whatever became of its
/// number, no other child is touched. For processes whose other children are not ours.
std::optional<WaitStatus> reap(int descriptor) noexcept;

}  // namespace attune
