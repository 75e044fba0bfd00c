// SPDX-License-Identifier: MIT
#include "dispatch/dispatch_log.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/quiet_write.h"
#include "base/text.h"

namespace attune {

/// Standard error may be closed or full: that is not the application's end. Names and cells in a sentence may come from
/// any file: it stays one line and harms no terminal.
void DispatchLog::print(const std::string& sentence) {
  constexpr size_t kMostCharacters = 2000;
  const std::string line = "attune: " + shown(sentence, kMostCharacters) + "\n";
  const QuietWrite quiet;
  [[maybe_unused]] const size_t written = std::fwrite(line.data(), 1, line.size(), stderr);
}

void DispatchLog::say(const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  if (said_.contains(sentence)) return;
  if (said_.size() < kMostKept) said_.insert(sentence);
  if (++num_said_ <= kMostLines) print(sentence);
  if (num_said_ == kMostLines) print("more of this is counted only, and said at the end");
}

void DispatchLog::insist(const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  print(sentence);
}

void DispatchLog::finish(const DispatchCounts& all, bool are_captured) {
  const std::lock_guard lock(mutex_);
  if (num_said_ > kMostLines) print(fmt::format("{} lines were left out", num_said_ - kMostLines));
  if (all.missed_shapes > 0) {
    print(fmt::format("{} of {} lookups found no row in the tables, of {}; {}", all.misses, all.calls,
                      counted(all.missed_shapes, "shape"),
                      are_captured ? "they are captured: attune coverage says how to tune them"
                                   : "capture them with ATTUNE_TUNE_GEMM=1"));
  }
}

}  // namespace attune
