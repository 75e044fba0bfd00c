// SPDX-License-Identifier: MIT
#pragma once
#include <unistd.h>

#include <utility>

namespace attune {

/// Owns a file descriptor and closes it; a negative number: none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) noexcept : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int number() const noexcept { return number_; }
  /// Returns the descriptor, which the caller owns from now on.
  int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace attune
