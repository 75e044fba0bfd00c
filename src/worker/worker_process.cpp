// SPDX-License-Identifier: MIT
#include "worker/worker_process.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/text.h"

namespace attune {
namespace {

constexpr const char* kOutput = "output";
constexpr Milliseconds kGrace{20};  // so that the answer of a candidate that ends right at its deadline is read

// The page is polled: there is no notification of a new announcement, and a wake-up for each turn would disturb the
// measurement.
constexpr Milliseconds kMinPollInterval{10}, kMaxPollInterval{500};

/// Shortest limit that the request may announce; deadlines are noticed at most a quarter of it late.
Milliseconds shortest_limit(const WorkerRequest& request) {
  Milliseconds shortest = 4 * kMaxPollInterval;
  const auto consider = [&](Milliseconds limit) {
    if (limit.count() > 0) shortest = std::min(shortest, limit);
  };
  if (const auto* admit = std::get_if<request::Admit>(&request)) {
    consider(admit->admission.limits.load);
    consider(admit->admission.limits.run);
  }
  if (const auto* sample = std::get_if<request::Sample>(&request)) {
    for (const Turn& turn : sample->schedule) consider(turn.limit);
  }
  return shortest;
}

uint64_t memory_of(const WorkerOptions& options) {
  return options.memory_bytes != 0
             ? options.memory_bytes
             : static_cast<uint64_t>(options.memory_share *
                                     static_cast<double>(meminfo_bytes("MemAvailable").value_or(0)));
}

ProcessLimits limits_of(const WorkerOptions& options, [[maybe_unused]] const MemoryCgroup& cgroup) {
  ProcessLimits limits{.file_bytes = options.file_bytes, .open_files = options.open_files};
#ifndef ATTUNE_SANITIZED  // a sanitizer maps terabytes of shadow memory
  // Not the address space, because libraries reserve much more than they use.
  if (!cgroup.available()) limits.data_bytes = memory_of(options);
#endif
  return limits;
}

ChildCommand command_of(const WorkerOptions& options, const std::filesystem::path& folder, const MemoryCgroup& cgroup,
                        std::vector<int> inherited) {
  ChildCommand command;
  command.arguments = options.command;
  command.environment = options.environment;
  command.environment["TMPDIR"] = folder.string();
  command.folder = folder;
  command.output = folder / kOutput;
  command.limits = limits_of(options, cgroup);
  command.cgroup = cgroup.descriptor();
  command.inherited = std::move(inherited);
  return command;
}

}  // namespace

WorkerProcess::WorkerProcess(const WorkerOptions& options) : WorkerProcess(options, ChannelPair()) {}

WorkerProcess::WorkerProcess(const WorkerOptions& options, ChannelPair channel)
    : options_(options),
      folder_("worker"),
      cgroup_(memory_of(options)),
      channel_(std::move(channel.ours)),
      child_(command_of(options, folder_.path(), cgroup_, {channel.theirs.number(), page_.descriptor()})),
      asked_(Clock::now()) {}

WorkerProcess::~WorkerProcess() {
  child_.kill();
  if (options_.strays != nullptr) options_.strays->kill();
}

void WorkerProcess::ask(const WorkerRequest& request, Milliseconds longest) {
  longest_ = longest;
  channel_.send({++number_, to_payload(request)});
  page_.clear();
  asked_ = Clock::now();
  is_busy_ = true;
  channel_.write();
  poll_interval_ = std::clamp(shortest_limit(request) / 4, kMinPollInterval, kMaxPollInterval);
  watch();
}

std::optional<WorkerProcess::Event> WorkerProcess::take() {
  auto event = look();
  if (!event) {
    watch();
  } else {
    poll_set_.forget(channel_.descriptor());
    poll_set_.forget(child_.descriptor());
    poll_set_.wake_in(std::nullopt);
    was_sending_.reset();
    wakes_at_.reset();
    if (std::holds_alternative<Reply>(*event)) is_busy_ = false;
  }
  return event;
}

/// Makes the poll set readable when take() has something to do: on an answer, the worker's end, space for unsent bytes,
/// or a deadline.
void WorkerProcess::watch() {
  if (const bool is_sending = channel_.is_sending(); was_sending_ != is_sending) {
    if (!was_sending_) poll_set_.watch(child_.descriptor());
    poll_set_.watch(channel_.descriptor(), is_sending);
    was_sending_ = is_sending;
  }
  const auto now = Clock::now();
  const auto due = std::min(deadline(page_.read()), now + poll_interval_);
  // An earlier wake-up only reads the page earlier.
  if (wakes_at_ && *wakes_at_ > now && *wakes_at_ <= due) return;
  wakes_at_ = due;
  poll_set_.wake_in(due - now);
}

/// Looks at the deadline last: an answer that came in time counts, however late this is called.
std::optional<WorkerProcess::Event> WorkerProcess::look() {
  for (;;) {
    try {
      if (auto answer = next_answer()) return std::move(*answer);
    } catch (const Error&) {
      return death(child_.reject());
    }
    const short wanted = channel_.is_sending() ? POLLIN | POLLOUT : POLLIN;
    std::array<pollfd, 2> entries = {pollfd{channel_.descriptor(), wanted, 0}, pollfd{child_.descriptor(), POLLIN, 0}};
    if (::poll(entries.data(), entries.size(), 0) <= 0) {
      const Announcement announced = page_.read();
      if (Clock::now() < deadline(announced)) return std::nullopt;
      return death(expire(announced.limit.count() > 0 ? announced.limit : longest_));
    }
    if ((entries[0].revents & POLLOUT) != 0) channel_.write();
    if (entries[1].revents != 0) return after_its_end();
    if ((entries[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
    if (!page_.read().answering) {
      // A candidate wrote to the channel or closed it. The worker notices before it runs the next candidate, and ends.
      return death(await_or_kill((entries[0].revents & POLLHUP) != 0));
    }
    if (!channel_.read()) return death(await_or_kill(true));
  }
}

/// Kills a worker that hangs. It does not wait: the kernel and a driver may take long to end it.
WaitStatus WorkerProcess::expire(Milliseconds limit) {
  if (const auto ended = child_.poll()) return *ended;
  child_.end();
  return WaitStatus::past(limit);
}

/// Ends a worker whose channel was damaged. It notices and ends by itself, unless it hangs. If the channel was closed,
/// the worker is already ending, and its exit status is more informative than the channel.
WaitStatus WorkerProcess::await_or_kill(bool hung_up) {
  constexpr Milliseconds kToEnd{500};
  pollfd entry{child_.descriptor(), POLLIN, 0};
  ::poll(&entry, 1, static_cast<int>((hung_up ? kToEnd : kGrace).count()));
  if (hung_up) {
    if (const auto ended = child_.poll()) return *ended;
  }
  return child_.reject();
}

/// An answer sent before the worker ended is accepted.
WorkerProcess::Event WorkerProcess::after_its_end() {
  if (page_.read().answering) channel_.read();
  try {
    if (auto answer = next_answer()) return std::move(*answer);
  } catch (const Error&) {
  }
  return death(child_.kill());
}

/// Throws invalid_input for anything other than the answer to the request.
std::optional<Reply> WorkerProcess::next_answer() {
  auto frame = channel_.next();
  if (!frame) return std::nullopt;
  if (frame->number != number_) fail(ErrorCode::invalid_input, "an answer has no matching request: {}", frame->number);
  return answer_from(frame->payload);
}

WorkerProcess::Clock::time_point WorkerProcess::deadline(const Announcement& announced) const {
  const Clock::time_point began(std::chrono::nanoseconds(announced.began_ns));
  if (announced.limit.count() <= 0) return std::max(began, asked_) + longest_;
  return began + announced.limit + kGrace;
}

Death WorkerProcess::death(WaitStatus status) {
  status.for_memory = cgroup_.killed();
  Death death{outcome_of_death(status, "the candidate's process"), page_.read().slot};
  if (death.blamed == 0) death.outcome = outcome_of_death(status, "the worker");
  if (const std::string words = last_output(); !words.empty())
    death.outcome.detail += "; last output: " + in_users_words(words, options_);
  return death;
}

/// The last output of libraries on standard output and error, such as `free(): invalid pointer`.
std::string WorkerProcess::last_output() const {
  constexpr size_t kMaxBytes = 200;
  return std::string(trim(read_file_end(folder_.path() / kOutput, kMaxBytes)));
}

}  // namespace attune
