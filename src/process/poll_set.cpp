// SPDX-License-Identifier: MIT
#include "process/poll_set.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace attune {

PollSet::PollSet()
    : set_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      ready_(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (set_.number() < 0 || timer_.number() < 0 || ready_.number() < 0)
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
  using std::chrono::nanoseconds;
  const bool is_now = time && *time <= nanoseconds(0);
  if (is_now != std::exchange(is_ready_, is_now)) {
    epoll_event event{EPOLLIN, {}};
    ::epoll_ctl(set_.number(), is_now ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, ready_.number(), &event);
  }
  // Setting a timer takes many times longer in a virtual machine, and most calls only make sure that it is off.
  const auto wanted = time && !is_now ? *time : nanoseconds(0);
  if (wanted == nanoseconds(0) && !is_timer_set_) return;
  is_timer_set_ = wanted != nanoseconds(0);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(wanted);
  const itimerspec once{{}, {seconds.count(), (wanted - seconds).count()}};
  ::timerfd_settime(timer_.number(), 0, &once, nullptr);
}

void PollSet::wait(Milliseconds timeout) const noexcept {
  pollfd entry{descriptor(), POLLIN, 0};
  ::poll(&entry, 1, static_cast<int>(timeout.count()));
}

}  // namespace attune
