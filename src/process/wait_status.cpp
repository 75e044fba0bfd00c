// SPDX-License-Identifier: MIT
#include "process/wait_status.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>

#include "base/text.h"

namespace attune {
namespace {

/// SIGKILL names neither its sender nor its reason. Processes that the kernel kills for memory are large; a smaller one
/// was killed by another sender.
constexpr uint64_t kGrownBytes = uint64_t{256} << 20;

Milliseconds milliseconds(const timeval& time) {
  return Milliseconds(int64_t{time.tv_sec} * 1000 + time.tv_usec / 1000);
}

std::string name_of_signal(int number) {
  const char* name = ::sigabbrev_np(number);
  if (!name) return fmt::format("signal {}", number);
  const char* description = ::sigdescr_np(number);
  return fmt::format("SIG{} ({})", name, description ? to_lower(description) : "");
}

bool killed_for_memory(const WaitStatus& status) {
  if (status.end != WaitStatus::End::signalled || status.code != SIGKILL) return false;
  return status.for_memory || status.peak_bytes >= kGrownBytes;
}

Status status_of(const WaitStatus& status) {
  if (status.ok()) return Status::ok;
  if (status.end == WaitStatus::End::deadline) return Status::timed_out;
  if (status.end == WaitStatus::End::signalled && status.code == SIGXCPU) return Status::timed_out;
  return killed_for_memory(status) ? Status::out_of_memory : Status::crashed;
}

}  // namespace

WaitStatus WaitStatus::of(int wait_word, const rusage& usage) noexcept {
  WaitStatus status;
  if (WIFSIGNALED(wait_word)) {
    status.end = End::signalled;
    status.code = WTERMSIG(wait_word);
  } else {
    status.code = WEXITSTATUS(wait_word);
  }
  status.peak_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  status.cpu_time = milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
  return status;
}

WaitStatus WaitStatus::past(Milliseconds deadline) noexcept {
  WaitStatus status;
  status.end = End::deadline;
  status.deadline = deadline;
  return status;
}

WaitStatus WaitStatus::of_lost() noexcept {
  WaitStatus status;
  status.end = End::lost;
  return status;
}

std::string WaitStatus::describe() const {
  switch (end) {
    case End::exited:
      return fmt::format("exited with status {}", code);
    case End::deadline:
      return fmt::format("ran past its deadline of {:g} s", static_cast<double>(deadline.count()) / 1000);
    case End::protocol:
      return "sent an invalid message";
    case End::lost:
      return "ended with an unknown status (this process ignores SIGCHLD, or waits for children that are not its own)";
    case End::signalled:
      break;
  }
  if (code == SIGXCPU) return "exceeded its limit of processor time";
  if (code == SIGXFSZ) return "exceeded its limit of file size";
  if (killed_for_memory(*this) && for_memory)
    return fmt::format("was killed for exceeding its memory limit: it used {} MB", peak_bytes >> 20);
  if (killed_for_memory(*this))
    return fmt::format("was killed from outside, most likely for memory: it used {} MB", peak_bytes >> 20);
  return "was killed by " + name_of_signal(code);
}

Outcome outcome_of(const WaitStatus& status, std::string_view what) {
  Outcome outcome;
  outcome.status = status_of(status);
  if (!outcome.ok()) outcome.detail = fmt::format("{} {}", what, status.describe());
  return outcome;
}

Outcome outcome_of_death(const WaitStatus& status, std::string_view what) {
  if (status.end != WaitStatus::End::exited) return outcome_of(status, what);
  Outcome outcome;
  outcome.status = Status::crashed;
  outcome.detail = fmt::format("{} exited on its own with status {}", what, status.code);
  return outcome;
}

}  // namespace attune
