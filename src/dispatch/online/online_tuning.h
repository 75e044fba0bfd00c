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

struct OnlineOptions {
  std::filesystem::path program;  ///< AttuneProgram::path.
  std::filesystem::path state;    ///< home_location(); passed to the program as ATTUNE_HOME.
  DeviceInfo device;              ///< The device whose lookups will miss shapes, see OnlineTuning::tune_for().
  /// Whether the program works on that device; if not, on one like it that nobody uses.
  bool shares_device = true;
  /// Time from the end of a program to the start of the next one, if shapes are left or it failed; doubled with each
  /// failure.
  std::chrono::milliseconds pause{30'000};
};

/// Tunes missed shapes with `attune online`, a separate process beside the application. Writes the shapes into a queue
/// (OnlineQueue) and starts the program while some wait. Results come back as a table in `overlay/`, which is read like
/// any other table. Only the dispatcher's thread may use this; the copy in a forked child does nothing.
///
/// The program has its own process group, low priority and the environment as it was at construction; it inherits no
/// descriptors or signal settings from the application. end() tells it to stop; if the application crashes, the program
/// finishes its current work and ends. The application gets one SIGCHLD for each program. Only this program is waited
/// for, never another child.
class OnlineTuning {
 public:
  static constexpr size_t kMaxShapes = 1024;  ///< Per process; more are ignored, which is reported once.
  static constexpr int kMaxFailures = 3;  ///< Consecutive failures after which online tuning stops, which is reported.
  static constexpr int kNoDevice = 75;    ///< Exit status of the program without a device to work on: EX_TEMPFAIL.
  static constexpr int kWaits = 76;       ///< Exit status of the program if all queued shapes wait for memory.

  /// Copies the environment; no thread may change it meanwhile. Touches no file.
  explicit OnlineTuning(OnlineOptions options);
  ~OnlineTuning();  ///< Calls end().
  OnlineTuning(const OnlineTuning&) = delete;
  OnlineTuning& operator=(const OnlineTuning&) = delete;

  /// Replaces the device, which may have another thread limit, as long as no shape was added. No I/O.
  void tune_for(const DeviceInfo& device);
  /// Adds a normalised shape that no row serves. A known shape costs one lookup. No I/O. Families that cannot be tuned
  /// are ignored.
  void want(const Problem& normalised);

  /// Writes new shapes into the queue, reaps an ended program and starts one when shapes wait. Call it after want(),
  /// and at least every few seconds. Returns sentences for the log. Takes about 10 µs, 1 ms with new shapes, and up to
  /// 0.2 s while another process holds the queue's lock.
  std::vector<std::string> poll();

  /// Sends SIGTERM to the program without waiting for its end; the program keeps its measurements. Nothing is started
  /// afterwards. Shapes that are not yet in the queue are lost.
  void end() noexcept;

  bool is_running() const noexcept { return running_.pid != 0; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Running {
    pid_t pid = 0;                  ///< 0: no program runs.
    int process = -1, output = -1;  ///< The pidfd, and the memory file with the output written before the log exists.
  };

  void enqueue(std::vector<std::string>& messages);
  void reap(std::vector<std::string>& messages);
  void start(std::vector<std::string>& messages);
  void forget_running() noexcept;
  void failed(const std::string& how, std::vector<std::string>& messages);

  OnlineOptions options_;
  OnlineQueue queue_;
  const pid_t process_;  ///< Process that made this; differs in a child of fork().
  std::map<std::string, std::string> environment_;
  std::set<std::string> known_;                                ///< Keys of all shapes passed to want().
  std::map<const FamilySpec*, std::vector<Problem>> waiting_;  ///< Not yet in the queue.
  bool is_full_ = false, said_full_ = false, has_no_device_ = false, said_no_device_ = false;
  bool is_ended_ = false;
  int num_failures_ = 0;
  Clock::time_point next_start_{}, last_start_{}, next_write_{};
  std::string last_write_error_;
  Running running_;
};

}  // namespace attune
