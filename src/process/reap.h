// SPDX-License-Identifier: MIT
#pragma once
#include <sys/wait.h>

#include <optional>

#include "process/wait_status.h"

namespace attune {

/// Selects a child by its descriptor (pidfd) in waitid(). P_PIDFD of linux/wait.h; older libc headers lack it.
inline constexpr auto kByDescriptor = static_cast<idtype_t>(3);

/// Reaps a child if it has ended; empty while it runs. Does not wait. The descriptor is unique: even if the child's
/// number was reused, no other child is touched. For processes that have children of other owners.
std::optional<WaitStatus> reap(int descriptor) noexcept;

}  // namespace attune
