// SPDX-License-Identifier: MIT
#include "process/strays.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>
#include <vector>

#include "process/children.h"
#include "process/reap.h"

namespace attune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLastPatience{5000};
constexpr size_t kMaxAtOnce = 16;  ///< Maximum number of descriptors held; the next round handles the rest.

/// A child held by descriptor: even if its number is reused, no other process is examined, killed or reaped.
class Stray {
 public:
  explicit Stray(pid_t pid) : descriptor_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}
  ~Stray() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Stray(Stray&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), was_alive_(other.was_alive_) {}
  Stray& operator=(Stray&&) = delete;

  /// Returns false if there is no descriptor for it, or if it belongs to another user.
  bool kill() {
    siginfo_t info{};
    // waitid() fails if the process is not our child: the number was reused since it was listed.
    if (::waitid(kByDescriptor, static_cast<id_t>(descriptor_), &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0)
      return false;
    was_alive_ = info.si_pid == 0;
    return !was_alive_ || ::syscall(SYS_pidfd_send_signal, descriptor_, SIGKILL, nullptr, 0) == 0;
  }
  /// Whether it was alive at kill() and is gone now.
  bool reap(Clock::time_point deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd entry{descriptor_, POLLIN, 0};
    ::poll(&entry, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    siginfo_t info{};
    const bool reaped =
        ::waitid(kByDescriptor, static_cast<id_t>(descriptor_), &info, WEXITED | WNOHANG | __WALL) == 0 &&
        info.si_pid != 0;
    return reaped && was_alive_;
  }

 private:
  int descriptor_;
  bool was_alive_ = false;
};

std::vector<pid_t> children_without_owner() {
  OwnedChildren& owned = OwnedChildren::instance();
  const auto paused = owned.pause();
  auto listed = listed_children();
  std::vector<pid_t> children = listed ? *std::move(listed) : scanned_children();
  std::erase_if(children, [&](pid_t pid) { return owned.contains(pid); });
  return children;
}

}  // namespace

Strays::Strays() {
  ::prctl(PR_GET_CHILD_SUBREAPER, &before_, 0, 0, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

Strays::~Strays() {
  // The run ends here: no later call follows.
  kill({}, kLastPatience);
  ::prctl(PR_SET_CHILD_SUBREAPER, before_, 0, 0, 0);
}

size_t Strays::kill(std::span<const pid_t> spared, std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  std::vector<pid_t> left_alone(spared.begin(), spared.end());
  size_t num_killed = 0;
  do {
    // Only children need to be found: the children of a killed child are ours in the next round. Numbers of children
    // are reliable, unlike a grandchild's: its parent may reap it, and the number may be reused, between two looks.
    std::vector<Stray> strays;
    for (const pid_t pid : children_without_owner()) {
      if (strays.size() == kMaxAtOnce) break;
      if (std::find(left_alone.begin(), left_alone.end(), pid) != left_alone.end()) continue;
      Stray stray(pid);
      if (stray.kill())
        strays.push_back(std::move(stray));
      else
        left_alone.push_back(pid);
    }
    if (strays.empty()) break;
    for (Stray& stray : strays) num_killed += stray.reap(deadline);
  } while (Clock::now() < deadline);
  return num_killed;
}

}  // namespace attune
