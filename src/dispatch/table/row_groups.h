// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/huge_pages.h"
#include "dispatch/table/shape_hash.h"

namespace attune {

/// Rows that differ in M alone, in the order of M. Immutable: any thread. 8 bytes a row and at most 32 a group.
class RowGroups {
 public:
  struct Member {
    uint64_t group = 0;  ///< print_of() all but the row's M.
    uint32_t m = 0, row = 0;
  };
  static uint64_t print_of(const HalfKey& half) noexcept { return (half.low ^ half.high) | 1; }

  RowGroups() : RowGroups(std::vector<Member>()) {}
  /// In any order.
  explicit RowGroups(std::vector<Member> members);

  struct AdjacentRows {
    uint32_t below = 0, above = 0;  ///< Numbers of the next rows of another M; 0: there is none.
  };
  /// A cache miss for the group, and one or two in it.
  AdjacentRows around(const HalfKey& half, int64_t m) const noexcept;
  void prefetch(const HalfKey& half) const noexcept {
    __builtin_prefetch(&groups_[(print_of(half) >> 8) & (groups_.size() - 1)]);
  }
  uint64_t num_bytes() const noexcept;

 private:
  struct Group {
    uint64_t print = 0;  ///< 0: a free place.
    uint32_t first = 0, count = 0;
  };
  struct Place {
    uint32_t m = 0, row = 0;
  };
  size_t slot_of(uint64_t print) const noexcept {
    const size_t mask = groups_.size() - 1;
    size_t at = (print >> 8) & mask;
    while (groups_[at].print != 0 && groups_[at].print != print) at = (at + 1) & mask;
    return at;
  }

  std::vector<Group, HugePages<Group>> groups_;  ///< Open addressing; a power of two, at most 7 of 10 taken.
  std::vector<Place, HugePages<Place>> places_;  ///< By group and M.
};

}  // namespace attune
