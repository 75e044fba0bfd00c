// SPDX-License-Identifier: MIT
#include "server/journal/seen_keys.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/hash.h"

namespace attune {
namespace {

uint64_t key_of(std::string_view text) { return std::max<uint64_t>(hash128(text).low, 1); }

}  // namespace

/// Where a key is, or would be.
size_t SeenKeys::slot(uint64_t key) const {
  size_t at = key & (slots_.size() - 1);
  while (slots_[at] != 0 && slots_[at] != key) at = (at + 1) & (slots_.size() - 1);
  return at;
}

void SeenKeys::grow() {
  constexpr size_t kLeast = 64;
  const auto old = std::exchange(slots_, std::vector<uint64_t>(std::max(kLeast, slots_.size() * 2)));
  for (const uint64_t key : old) {
    if (key != 0) slots_[slot(key)] = key;
  }
}

bool SeenKeys::insert(std::string_view text) {
  ATTUNE_CHECK(!is_full(), "a full set takes no text");
  if (num_keys_ * 4 >= slots_.size() * 3) grow();
  const uint64_t key = key_of(text);
  const size_t at = slot(key);
  if (slots_[at] == key) return false;
  slots_[at] = key;
  ++num_keys_;
  return true;
}

bool SeenKeys::contains(std::string_view text) const { return !slots_.empty() && slots_[slot(key_of(text))] != 0; }

}  // namespace attune
