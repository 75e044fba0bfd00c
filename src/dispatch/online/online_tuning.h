// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "core/device_info.h"
#include "dispatch/online/online_queue.h"
#include "ops/family.h"

namespace attune {

/// The program `attune` that goes with this library, or a sentence why there is none.
struct OnlineProgram {
  std::filesystem::path path;  ///< Absolute; empty: none.
  std::string why_not;
};
/// $ATTUNE_PROGRAM; else bin/attune of the tree that the library is installed in, or attune beside the library. Reads
/// the environment.
OnlineProgram online_program();

struct OnlineOptions {
  std::filesystem::path program;  ///< OnlineProgram::path.
  std::filesystem::path state;    ///< home_location(); the program is told of it by ATTUNE_HOME.
  DeviceInfo device;              ///< That the shapes are missed on.
  /// From a program's end to the next one's start, when shapes are left or it failed; doubled with each failure.
  std::chrono::milliseconds pause{30'000};
};

/// Has missed shapes tuned by `attune online`, a process of its own beside the application: writes them into a queue
/// (OnlineQueue) and sees to it that the program runs while some wait. What it finds comes back as a table in
/// `overlay/`, which is looked at as any other. One thread (the dispatcher's own); a forked child's copy does nothing.
///
/// The program has its own process group, no descriptor or signal setting of the application's, the environment as it
/// was when this was made, and little priority. end() tells it to stop; after a crash of the
/// application it ends when what it has begun is done. The application gets one SIGCHLD for each; nobody but our own
/// process is waited for.
class OnlineTuning {
 public:
  static constexpr size_t kMaxShapes = 1024;  ///< Wanted by one process; further ones are left out, said once.
  static constexpr int kMaxFailures = 3;      ///< In a row; then no program is started any more, which is said.

  /// Copies the environment, which no thread may change meanwhile. Touches no file.
  explicit OnlineTuning(OnlineOptions options);
  ~OnlineTuning();  ///< end().
  OnlineTuning(const OnlineTuning&) = delete;
  OnlineTuning& operator=(const OnlineTuning&) = delete;

  /// A shape that no row serves, normalised; one that was wanted before costs a look. No I/O. Families that cannot be
  /// tuned are passed over.
  void want(const Problem& normalised);

  /// Brings wanted shapes into the queue, reaps a program that ended, starts one when shapes wait. To be called after
  /// want(), and at least every few seconds. Returns sentences for the log. Mostly some 10 µs; 1 ms with new shapes; up
  /// to 0.2 s when another process holds the queue's lock.
  std::vector<std::string> poll();

  /// Tells the program to stop (SIGTERM) and does not wait for it: it keeps what it has measured. Nothing is started
  /// after it. What it could not bring into the queue is lost.
  void end() noexcept;

  bool is_running() const noexcept { return running_.pid != 0; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Running {
    pid_t pid = 0;                  ///< 0: none.
    int process = -1, output = -1;  ///< pidfd; what it wrote before it had a log, in memory.
  };

  void enqueue(std::vector<std::string>& said);
  void reap(std::vector<std::string>& said);
  void start(std::vector<std::string>& said);
  void forget_running() noexcept;
  void failed(const std::string& how, std::vector<std::string>& said);

  const OnlineOptions options_;
  const OnlineQueue queue_;
  const pid_t process_;  ///< Not a child of a fork().
  std::map<std::string, std::string> environment_;
  std::set<std::string> known_;                                ///< Keys of all that were wanted.
  std::map<const FamilySpec*, std::vector<Problem>> waiting_;  ///< Not in the queue yet.
  bool is_full_ = false, said_full_ = false, is_ended_ = false;
  int num_failures_ = 0;
  Clock::time_point next_start_{}, last_start_{}, next_write_{};
  std::string last_write_error_;
  Running running_;
};

}  // namespace attune
