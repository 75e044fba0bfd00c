// SPDX-License-Identifier: MIT
#include "dispatch/dispatch_log.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/text.h"

namespace attune {

/// Standard error may be closed or full: that is not the application's end.
void DispatchLog::print(const std::string& sentence) {
  const std::string line = "attune: " + sentence + "\n";
  [[maybe_unused]] const size_t written = std::fwrite(line.data(), 1, line.size(), stderr);
}

void DispatchLog::say(const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  if (++num_said_ <= kMostLines) print(sentence);
  if (num_said_ == kMostLines) print("more of this is counted only, and said at the end");
}

void DispatchLog::insist(const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  print(sentence);
}

void DispatchLog::finish(uint64_t calls, uint64_t missed_calls, uint64_t missed_shapes) {
  const std::lock_guard lock(mutex_);
  if (num_said_ > kMostLines) print(fmt::format("{} lines were left out", num_said_ - kMostLines));
  if (missed_shapes > 0) {
    print(fmt::format("{} of {} lookups found no row in the tables, of {}; capture them with ATTUNE_TUNE_GEMM=1",
                      missed_calls, calls, counted(missed_shapes, "shape")));
  }
}

}  // namespace attune
