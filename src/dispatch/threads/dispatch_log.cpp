// SPDX-License-Identifier: MIT
#include "dispatch/threads/dispatch_log.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/blocked_write_signals.h"
#include "base/text.h"

namespace attune {

/// A closed or full standard error must not end the application. Names and cells in a sentence may come from any file;
/// shown() keeps the sentence on one line and harmless to terminals.
void DispatchLog::print(const std::string& sentence) {
  constexpr size_t kMaxCharacters = 2000;
  const std::string line = "attune: " + shown(sentence, kMaxCharacters) + "\n";
  const BlockedWriteSignals blocked;
  [[maybe_unused]] const size_t written = std::fwrite(line.data(), 1, line.size(), stderr);
}

void DispatchLog::say(const std::string& sentence) {
  const Lock lock(mutex_);
  if (sentences_.contains(sentence)) return;
  if (sentences_.size() < kMaxKept) sentences_.insert(sentence);
  if (++num_lines_ <= kMaxLines) print(sentence);
  if (num_lines_ == kMaxLines) print("further messages are suppressed and counted");
}

void DispatchLog::say_always(const std::string& sentence) {
  const Lock lock(mutex_);
  print(sentence);
}

void DispatchLog::finish(const DispatchCounts& all, bool has_left, const std::optional<std::string>& capture_error,
                         bool may_be_captured) {
  const Lock lock(mutex_);
  const bool has_error = capture_error && !capture_error->empty();
  const std::string not_captured =
      has_error
          ? fmt::format("not all captured, set ATTUNE_CAPTURE_DIR to a folder that can be written: {}", *capture_error)
          : "";
  if (num_lines_ > kMaxLines) print(fmt::format("{} messages were suppressed", num_lines_ - kMaxLines));
  if (all.missed_shapes > 0 || has_left) {
    const std::string next = has_error       ? "; they are " + not_captured
                             : capture_error ? "; they are captured: attune coverage shows how to tune them"
                             : may_be_captured
                                 ? ""
                                 : "; they are not captured, which takes ATTUNE_TUNE_GEMM=1 and a folder: "
                                   "ATTUNE_CAPTURE_DIR, else one in ATTUNE_HOME";
    const std::string of_shapes = has_left ? "" : ", of " + counted(all.missed_shapes, "shape");
    print(fmt::format("{} of {} lookups found no row in the tables{}{}", all.misses, all.calls, of_shapes, next));
  } else if (has_error) {
    print("the shapes that were called are " + not_captured);
  }
}

}  // namespace attune
