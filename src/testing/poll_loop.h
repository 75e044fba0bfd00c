// SPDX-License-Identifier: MIT
#pragma once
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <optional>

#include "measure/executor.h"

namespace attune {

/// A pipe whose ends are closed with it.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  ~Pipe() {
    for (const int end : ends_) ::close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int descriptor() const { return ends_[0]; }
  void put() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  void take() const {
    char byte = 0;
    EXPECT_EQ(::read(ends_[0], &byte, 1), 1);
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

/// Whether a descriptor is readable now, or within `timeout`.
inline bool is_readable(int descriptor, Milliseconds timeout = {}) {
  pollfd entry{descriptor, POLLIN, 0};
  return ::poll(&entry, 1, static_cast<int>(timeout.count())) == 1;
}

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
