// SPDX-License-Identifier: MIT
#include "process/poll_set.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace attune {

PollSet::PollSet()
    : set_(::epoll_create1(EPOLL_CLOEXEC)), timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (set_.number() < 0 || timer_.number() < 0)
    fail(ErrorCode::device, "cannot wait for other processes ({}), close other programs", std::strerror(errno));
  watch(timer_.number());
}

void PollSet::watch(int descriptor, bool writing) {
  epoll_event event{EPOLLIN, {}};
  if (writing) event.events |= EPOLLOUT;
  if (::epoll_ctl(set_.number(), EPOLL_CTL_MOD, descriptor, &event) == 0) return;
  if (errno != ENOENT || ::epoll_ctl(set_.number(), EPOLL_CTL_ADD, descriptor, &event) != 0)
    fail(ErrorCode::device, "cannot wait for other processes ({})", std::strerror(errno));
}

void PollSet::forget(int descriptor) noexcept { ::epoll_ctl(set_.number(), EPOLL_CTL_DEL, descriptor, nullptr); }

void PollSet::wake_in(std::optional<std::chrono::nanoseconds> time) noexcept {
  constexpr std::chrono::nanoseconds kAtOnce{1}, kOff{0};
  const auto wanted = time ? std::max(*time, kAtOnce) : kOff;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(wanted);
  const itimerspec once{{}, {seconds.count(), (wanted - seconds).count()}};
  ::timerfd_settime(timer_.number(), 0, &once, nullptr);
}

void PollSet::wait(Milliseconds timeout) const noexcept {
  pollfd entry{descriptor(), POLLIN, 0};
  ::poll(&entry, 1, static_cast<int>(timeout.count()));
}

}  // namespace attune
