// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <mutex>
#include <string>

namespace attune {

/// What a dispatcher says on standard error of a program that is not ours: a bounded number of lines, each once, and a
/// sentence at the end for what was left out. Any thread.
class DispatchLog {
 public:
  static constexpr uint64_t kMostLines = 90;

  void say(const std::string& sentence);
  /// The same, whatever was said before.
  void insist(const std::string& sentence);
  /// Around a fork(): a child must not find it locked for ever.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  /// The last line: what was not said.
  void finish(uint64_t calls, uint64_t missed_calls, uint64_t missed_shapes);

 private:
  void print(const std::string& sentence);

  std::mutex mutex_;
  uint64_t num_said_ = 0;
};

}  // namespace attune
