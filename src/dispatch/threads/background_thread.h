// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

namespace attune {

/// A thread of the library in an application. It receives none of the application's signals, and a child of fork()
/// detects that it does not have the thread.
class BackgroundThread {
 public:
  /// Throws unavailable when no thread can be started.
  explicit BackgroundThread(std::function<void()> work);
  /// Waits for the thread's end, except in a child of fork(), which does not have the thread.
  ~BackgroundThread();
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  /// False in a child of the process that started the thread.
  bool is_of_this_process() const noexcept;
  /// Waits for the thread's end, for at most `timeout`; returns whether it has ended. The work itself must provide the
  /// way to stop it.
  bool wait(std::chrono::milliseconds timeout) const;

  /// Number of these threads alive in this process; it may be lower while a thread starts or ends.
  static int num_alive() noexcept;
  /// Resets num_alive() in a child of fork().
  static void forget_all() noexcept;

 private:
  const int process_;
  std::atomic<bool> is_done_{false};
  std::unique_ptr<std::thread> thread_;
};

}  // namespace attune
