// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "attune/capture.h"
#include "dispatch/inbox.h"
#include "dispatch/online/online_tuning.h"
#include "dispatch/plan_service.h"
#include "dispatch/threads/background_thread.h"

namespace attune {

/// A dispatcher's own thread: it answers the shapes that lookups post, compiles kernels, looks for changed tables,
/// writes captured shapes and has missed shapes tuned. After an error in it, the application continues with the
/// existing answers.
class BackgroundWork {
 public:
  /// Starts the thread, and online tuning if the options ask for it. The arguments must outlive this; `capture` may be
  /// null. `misses`: shapes that are to be tuned, not answered. Where no thread can be started, why_not() says why, and
  /// nothing of the above is done.
  BackgroundWork(const DispatcherOptions& options, PlanService& plans, Inbox& inbox, Inbox& misses, Capture* capture,
                 DispatchLog& log);
  /// Waits for the thread's end, except in a child of fork(), which does not have the thread.
  ~BackgroundWork();
  /// Tells the thread to end and waits for it, for at most `timeout`: a library that is being destroyed may block it
  /// forever. Does nothing in a child of fork().
  void stop(std::chrono::milliseconds timeout);
  /// Why there is no thread, as a sentence; empty: there is one.
  const std::string& why_not() const noexcept { return why_not_; }

 private:
  void begin_online_tuning();
  void run() noexcept;
  void answer_posted();
  void note_missed();
  void tune_missed();

  const DispatcherOptions& options_;
  PlanService& plans_;
  Inbox &inbox_, &misses_;
  Capture* const capture_;
  DispatchLog& log_;
  std::atomic<bool> stop_{false};
  std::unique_ptr<OnlineTuning> online_;  ///< Used by the thread only. Null: online tuning is off.
  std::vector<Inbox::Item> noted_;        ///< Misses whose slots are not free yet.
  std::chrono::steady_clock::time_point next_release_{};
  std::string why_not_;
  std::unique_ptr<BackgroundThread> thread_;
};

}  // namespace attune
