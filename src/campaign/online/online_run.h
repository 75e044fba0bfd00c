// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "campaign/campaign.h"
#include "campaign/online/online_attempts.h"
#include "core/device_info.h"
#include "dispatch/online/online_queue.h"
#include "ops/family.h"

namespace attune {

/// Functions of the program that an online run calls.
struct OnlineCalls {
  /// Tunes shapes of one family and publishes their rows.
  std::function<CampaignResult(const FamilySpec& family, std::span<const Problem> problems)> tune;
  /// Receives each line of the run's report at once.
  std::function<void(const std::string& line)> report;
  /// Asked before each call of `tune` and after the last. True ends the run, and the rest stays in the queue. Empty:
  /// never.
  std::function<bool()> is_over;
  /// Called once, when the run first has the turn, before the first report. Empty: not called.
  std::function<void()> begin;
  /// Present time in seconds since 1970. Empty: the system's.
  std::function<int64_t()> now_s;
};

/// Tunes the queue's shapes, a few at a time. Only the process that has the turn may use this.
class OnlineRun {
 public:
  /// Maximum number of shapes in one call of `tune`. They share the wait between finals and confirm. A process whose
  /// starter has gone ends after them.
  static constexpr size_t kMaxAtOnce = 4;

  /// All arguments must outlive this.
  OnlineRun(const OnlineQueue& queue, OnlineAttempts& attempts, const DeviceInfo& device, const OnlineCalls& calls)
      : queue_(queue), attempts_(attempts), device_(device), calls_(calls) {}

  /// Returns the given-up shapes to the queue. Throws io.
  void retry();
  /// Runs until each shape of the queue is tuned, given up or waits for memory, or until `is_over`. Returns 0, or the
  /// exit status of a tuning that a signal ended. Throws io and the exceptions of `tune`; unfinished shapes stay in the
  /// queue.
  int work();
  /// Returns a sentence with the numbers of tuned, given-up and waiting shapes.
  std::string summary() const;
  /// Whether the queue has a shape that waits for memory, and no other.
  bool is_waiting() const noexcept { return num_waiting_ > 0; }

 private:
  struct Batch {
    const FamilySpec* family = nullptr;  ///< Null: the queue is empty.
    std::vector<Problem> problems;
  };
  enum class End : uint8_t;

  std::string why_not(const FamilySpec& family, const Problem& problem) const;
  void give_up(const Problem& problem, const std::string& reason);
  void postpone(const Problem& problem, const std::string& reason);
  Batch next();
  std::vector<Problem> chosen_of(const std::vector<Problem>& left) const;
  int tune(const Batch& batch);
  void settle(const Batch& batch, const std::vector<TuneResult>& results, End end);

  const OnlineQueue& queue_;
  OnlineAttempts& attempts_;
  const DeviceInfo& device_;
  const OnlineCalls& calls_;
  size_t num_tuned_ = 0, num_given_up_ = 0;
  size_t num_waiting_ = 0;  ///< As of the last next().
};

struct OnlineEnd {
  int status = 0;  ///< As of OnlineRun::work().
  bool had_turn = false;
  bool is_waiting = false;  ///< Shapes wait for memory; call this again in some minutes.
};
/// Ensures that each shape of the queue is tuned, given up or waits for memory. An application writes a shape first and
/// then starts this program. If the turn is taken, the program ends and relies on the holder, which looks at the queue
/// again *after* releasing the turn. If the shape was written before that look, the holder sees it. If it was written
/// later, the turn was free and the program started for it gets the turn. If two programs find the turn free, one gets
/// it and the other ends; the same holds for the one that got it. A killed process releases the turn without a look:
/// the applications start another, though not at once (OnlineOptions::pause). Creates the queue's folder. `retry`: as
/// OnlineRun::retry(), at the start. Throws like OnlineRun.
OnlineEnd empty_queue(const OnlineQueue& queue, const DeviceInfo& device, const OnlineCalls& calls, bool retry = false);

/// How `attune online` tunes. Plain data.
struct OnlineMethod {
  DeviceChoice device;
  std::string timeout = "5m";
  uint64_t max_trials = 24;
  double quiet_wait_s = 0;
  std::filesystem::path overlay;  ///< Folder of the written tables.
};
/// Returns the options of a run that tunes shapes of a family into its table in the overlay.
TuneOptions online_tune_options(const OnlineMethod& method, const FamilySpec& family,
                                std::span<const Problem> problems);
/// Tunes shapes like `attune tune`; creates the overlay's folder. Throws like run_campaign().
CampaignResult tune_into_overlay(const OnlineMethod& method, const FamilySpec& family,
                                 std::span<const Problem> problems);

}  // namespace attune
