// SPDX-License-Identifier: MIT
#pragma once
#include <poll.h>

#include <array>
#include <functional>
#include <optional>

#include "measure/executor.h"
#include "testing/pipe.h"

namespace attune {

/// Waits for an executor's answer and for the bytes of a pipe in one poll(), and touches each only when its descriptor
/// says so. `on_byte` is called for each byte. Nothing when neither says anything for ten seconds.
inline std::optional<Answer> answer_beside(Executor& executor, const Pipe& pipe, const std::function<void()>& on_byte) {
  constexpr int kTooLongMs = 10'000;
  for (;;) {
    std::array<pollfd, 2> entries = {pollfd{executor.descriptor(), POLLIN, 0}, pollfd{pipe.descriptor(), POLLIN, 0}};
    if (::poll(entries.data(), entries.size(), kTooLongMs) == 0) return std::nullopt;
    if (entries[1].revents != 0) {
      pipe.take();
      on_byte();
    }
    if (entries[0].revents == 0) continue;
    if (auto answer = executor.take()) return answer;
  }
}

}  // namespace attune
