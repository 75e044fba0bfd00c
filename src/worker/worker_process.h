// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/outcome.h"
#include "process/channel/channel.h"
#include "process/child.h"
#include "process/memory_cgroup.h"
#include "process/poll_set.h"
#include "process/strays.h"
#include "process/temporary_folder.h"
#include "worker/announcement.h"
#include "worker/messages.h"
#include "worker/worker_options.h"

namespace attune {

/// Outcome of a worker's death, and the slot to blame; slot 0: none.
struct Death {
  Outcome outcome;
  Slot blamed = 0;
};

/// One life of a worker: its process, channel, page of announcements and private folder. One request at a time. Not
/// thread-safe.
class WorkerProcess {
 public:
  /// The options must outlive it. Throws what Child throws when the process cannot be started.
  explicit WorkerProcess(const WorkerOptions& options);
  /// Kills the process group and the processes that escaped from it; removes the folder.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  pid_t pid() const noexcept { return child_.pid(); }
  /// For poll(): readable while take() has something to do, from ask() until the answer.
  int descriptor() const noexcept { return poll_set_.descriptor(); }
  using Event = std::variant<Reply, Death>;

  /// Starts sending a request. Requires: the last one was answered. `longest`: time limit for each step that has none
  /// of its own. Throws device when the worker's page cannot be written, internal when the request is too long.
  void ask(const WorkerRequest& request, Milliseconds longest);
  /// Returns the answer to the request, once; nullopt if it has not come yet. Returns a Death, once, if the worker
  /// ended, closed its channel, hung past the deadline of its announcement, or sent an invalid message; the worker is
  /// then killed. Sends the unsent rest of the request. Waits only for the end of a worker whose channel was damaged:
  /// half a second for it to end by itself, then until it was killed. A worker that hung may still be ending
  /// afterwards.
  std::optional<Event> take();
  /// Whether a request is outstanding.
  bool is_busy() const noexcept { return is_busy_; }

  /// Kills the process group without waiting: the process is gone once has_ended(). The worker takes no request
  /// afterwards.
  void kill() noexcept { child_.end(); }
  bool has_ended() { return child_.poll().has_value(); }
  /// For poll(): readable once the process has ended.
  int end_descriptor() const noexcept { return child_.descriptor(); }

 private:
  using Clock = std::chrono::steady_clock;

  WorkerProcess(const WorkerOptions& options, ChannelPair channel);
  std::optional<Event> look();
  void watch();
  std::optional<Reply> next_answer();
  Clock::time_point deadline(const Announcement& announced) const;
  Event after_its_end();
  WaitStatus expire(Milliseconds limit);
  WaitStatus await_or_kill(bool hung_up);
  Death death(WaitStatus status);
  std::string last_output() const;

  const WorkerOptions& options_;
  PollSet poll_set_;
  TemporaryFolder folder_;
  MemoryCgroup cgroup_;
  AnnouncementPage page_;
  ChannelEnd channel_;
  Child child_;
  uint64_t number_ = 0;
  Clock::time_point asked_;
  bool is_busy_ = false;
  Milliseconds longest_{0};
  Milliseconds poll_interval_{0};    ///< Time between two reads of the page during a request.
  std::optional<bool> was_sending_;  ///< Whether the channel is watched for space, too; nothing: it is not watched.
  std::optional<Clock::time_point>
      wakes_at_;  ///< When the poll set is readable at the latest; nothing: its timer is off.
};

}  // namespace attune
