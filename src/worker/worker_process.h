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
#include "process/child.h"
#include "process/memory_cage.h"
#include "process/strays.h"
#include "process/temporary_folder.h"
#include "worker/announcement.h"
#include "worker/frame.h"
#include "worker/messages.h"

namespace attune {

/// How workers are started.
struct WorkerOptions {
  std::vector<std::string> command;                ///< Program (absolute) and arguments: `attune worker`.
  std::string build;                               ///< Of this program; a worker of another refuses.
  std::string device = "cpu:0";                    ///< Which device a worker opens.
  std::vector<uint32_t> cores;                     ///< That it is made of; empty: all this process may use.
  std::string name;                                ///< What the device is called here; empty: as it calls itself.
  std::map<std::string, std::string> environment;  ///< All of a worker's; TMPDIR is added.
  uint64_t memory_bytes = 0;  ///< What a worker may use; 0: its share of what is free at its start.
  uint64_t file_bytes = uint64_t{1} << 30;
  uint64_t open_files = 1024;
  uint32_t max_admissions = 2000;  ///< After so many a worker is replaced by a fresh one.
  Strays* strays = nullptr;        ///< Ends what escaped from a worker's group; null: nothing does.
  Milliseconds start{60'000};      ///< To come up.
  /// Asked ten times a second while a worker comes up and has back what another had; null: never.
  std::function<bool()> stopped;
  /// For any step without a limit of its own, however large its problem: see also step_limit(). The references of the
  /// largest shapes take an hour on two cores.
  Milliseconds longest{4 * 3'600'000};
  /// After two deaths at which one candidate was announced: how long the suspects take their turns alone, in all.
  Milliseconds alone{2000};
  double memory_share = 0.9;  ///< Of what is free at its start: what a worker may use if memory_bytes does not say.
};

/// How a worker's life ended and whose doing that was; slot 0: nobody's.
struct Death {
  Outcome outcome;
  Slot blamed = 0;
};

/// One life of a worker: its process, channel, page of announcements and private folder. One request at a time. One
/// thread.
class WorkerProcess {
 public:
  /// Throws as Child when it cannot be started.
  explicit WorkerProcess(const WorkerOptions& options);
  /// Kills the group and what escaped from it; removes its folder.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  pid_t pid() const noexcept { return child_.pid(); }
  using Event = std::variant<std::monostate, Reply, Death>;

  /// Begins to send a request. The last one must have been answered. `longest`: for any of its steps that has no limit
  /// of its own.
  void ask(const Request& request, Milliseconds longest);
  /// Sends what is left and waits up to `at_most` for the answer. A worker that ended, closed its channel, hung past
  /// the deadline of what it had announced, or wrote what is no message, is dead when this returns: a Death, once.
  Event wait(Milliseconds at_most);

 private:
  using Clock = std::chrono::steady_clock;
  struct Descriptor {
    explicit Descriptor(int number = -1) : value(number) {}
    ~Descriptor();
    Descriptor(Descriptor&& other) noexcept;
    Descriptor& operator=(Descriptor&& other) noexcept;
    int value;
  };
  struct Channel;

  WorkerProcess(const WorkerOptions& options, Channel channel);
  std::optional<Reply> next_answer();
  bool read_answers();
  void write_request();
  Clock::time_point deadline(const Announcement& announced) const;
  Event after_its_end();
  WaitStatus turn_out(bool hung_up);
  Death death(WaitStatus status);
  std::string last_output() const;

  const WorkerOptions& options_;
  TemporaryFolder folder_;
  MemoryCage cage_;
  AnnouncementPage page_;
  Descriptor channel_;
  Child child_;
  FrameReader reader_;
  std::string unsent_;
  uint64_t number_ = 0;
  Clock::time_point asked_;
  Milliseconds longest_{0};
  Milliseconds nap_{0};  ///< Between two looks at the page, while a request is under way.
};

}  // namespace attune
