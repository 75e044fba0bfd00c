// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace attune {

/// A set of texts, each held as 64 bits of its hash, in 11 to 21 bytes: of a million texts two are taken for one with a
/// probability of 3e-8. Not thread-safe.
class SeenKeys {
 public:
  /// Takes at most `max` texts.
  explicit SeenKeys(size_t max) : max_(max) {}

  /// Returns whether the text was not there. Not for a set that is full.
  bool insert(std::string_view text);
  bool contains(std::string_view text) const;
  bool is_full() const noexcept { return num_keys_ >= max_; }
  /// Empties it and gives its memory back.
  void clear() { *this = SeenKeys(max_); }

 private:
  size_t slot(uint64_t key) const;
  void grow();

  size_t max_, num_keys_ = 0;
  std::vector<uint64_t> slots_;  ///< 0: free. A power of two of them, or none.
};

}  // namespace attune
