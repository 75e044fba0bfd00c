// SPDX-License-Identifier: MIT
#include "process/child.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include "process/children.h"
#include "process/spawn.h"

namespace attune {

Child::Child(const ChildCommand& command) : leads_group_(!command.joins_group) {
  const SpawnResult spawned = spawn(command);
  pid_ = spawned.pid;
  descriptor_ = spawned.descriptor;
}

Child::~Child() {
  if (pid_ != 0) kill();
  if (descriptor_ >= 0) ::close(descriptor_);
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      leads_group_(other.leads_group_),
      status_(std::exchange(other.status_, std::nullopt)) {}

std::optional<WaitStatus> Child::poll() {
  if (!status_) {
    siginfo_t info{};
    // Checks without reaping: while the process is a zombie, no other process can have its number or its group's.
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0)
      return std::nullopt;
    kill();
  }
  return status_;
}

WaitStatus Child::wait(Milliseconds deadline) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + deadline;
  for (;;) {
    if (const auto status = poll()) return *status;
    // The time is rounded up, so that the loop does not spin through the last millisecond.
    const auto left = std::chrono::ceil<Milliseconds>(end - Clock::now());
    if (left.count() <= 0) break;
    pollfd entry{descriptor_, POLLIN, 0};
    ::poll(&entry, 1, static_cast<int>(std::min<int64_t>(left.count(), 60'000)));
  }
  return expire(deadline);
}

WaitStatus Child::expire(Milliseconds deadline) noexcept {
  if (status_) return *status_;
  kill();
  if ((status_->end == WaitStatus::End::signalled && status_->code == SIGKILL) ||
      status_->end == WaitStatus::End::lost) {
    status_->end = WaitStatus::End::deadline;
    status_->code = 0;
    status_->deadline = deadline;
  }
  return *status_;
}

WaitStatus Child::reject() noexcept {
  // The invalid message says more than an exit: a wrong program may have ended by now, or not quite yet.
  if (const auto ended = poll(); ended && ended->end != WaitStatus::End::exited) return *ended;
  kill();
  if (status_->end == WaitStatus::End::exited || status_->end == WaitStatus::End::lost || status_->code == SIGKILL) {
    status_->end = WaitStatus::End::protocol;
    status_->code = 0;
  }
  return *status_;
}

WaitStatus Child::kill() noexcept {
  if (!status_) {
    signal_group(SIGKILL);
    status_ = reap();
  }
  return *status_;
}

void Child::stop() noexcept { signal_group(SIGSTOP); }
void Child::resume() noexcept { signal_group(SIGCONT); }

void Child::signal_group(int number) noexcept {
  // If it was reaped elsewhere (by the kernel, where SIGCHLD is ignored), the number may belong to another process by
  // now.
  siginfo_t info{};
  if (!status_ && pid_ != 0 && ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0)
    ::kill(leads_group_ ? -pid_ : pid_, number);
}

WaitStatus Child::reap() noexcept {
  int word = 0;
  rusage usage{};
  while (::wait4(pid_, &word, 0, &usage) < 0) {
    if (errno == EINTR) continue;
    OwnedChildren::instance().remove(pid_);
    return WaitStatus::of_lost();
  }
  OwnedChildren::instance().remove(pid_);
  return WaitStatus::of(word, usage);
}

}  // namespace attune
