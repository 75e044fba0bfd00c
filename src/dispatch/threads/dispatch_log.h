// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "attune/dispatcher.h"

namespace attune {

/// What a dispatcher says on standard error of a program that is not ours: a bounded number of lines, each once, and a
/// sentence at the end for what was left out. Any thread.
class DispatchLog {
 public:
  static constexpr uint64_t kMaxLines = 90;

  void say(const std::string& sentence);
  /// The same, whatever was said before.
  void insist(const std::string& sentence);
  /// Around a fork(): a child must not find it locked for ever.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  /// The last line: what was not said.
  void finish(const DispatchCounts& all, bool are_captured);

 private:
  static constexpr size_t kMaxKept = 1024;
  void print(const std::string& sentence);

  std::mutex mutex_;
  uint64_t num_said_ = 0;
  std::set<std::string> said_;  ///< Or left out; the first kMaxKept.
};

}  // namespace attune
