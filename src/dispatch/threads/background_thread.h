// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace attune {

/// A thread of the library's in an application: the application's signals are not for it, and a child of fork() knows
/// that it has none.
class BackgroundThread {
 public:
  /// Throws unavailable when no thread can be started.
  explicit BackgroundThread(std::function<void()> work);
  /// Waits for the thread's end; not in a child of fork(), which does not have it.
  ~BackgroundThread();
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  /// False in a child of the process that started it.
  bool is_of_this_process() const noexcept;
  /// Waits for its end, at most so long; whether it has ended. To be told to end is the work's own affair.
  bool wait(std::chrono::milliseconds at_most) const;

  /// Of this process and alive; fewer while one starts or ends.
  static int num_alive() noexcept;
  /// In a child of fork().
  static void forget_all() noexcept;

 private:
  const int process_;
  std::atomic<bool> is_done_{false};
  std::thread thread_;
};

}  // namespace attune
