// SPDX-License-Identifier: MIT
#pragma once
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>

#include "core/turn.h"

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

}  // namespace attune
