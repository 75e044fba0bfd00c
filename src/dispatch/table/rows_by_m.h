// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dispatch/table/huge_pages.h"
#include "dispatch/table/shape_hash.h"

namespace attune {

/// The rows of each group, rows that differ in M alone, in the order of M: finds the neighbours of an M that has no row
/// itself. Immutable, hence thread-safe. Takes 8 bytes per row and at most
/// 32 per group.
class RowsByM {
 public:
  struct Member {
    uint64_t group = 0;  ///< print_of() the row's key without M.
    uint32_t m = 0, row = 0;
  };
  static uint64_t print_of(const GroupKey& key) noexcept { return (key.low ^ key.high) | 1; }

  RowsByM() : RowsByM(std::vector<Member>()) {}
  /// The members may be in any order.
  explicit RowsByM(std::vector<Member> members);

  struct AdjacentRows {
    uint32_t below = 0, above = 0;  ///< Row numbers of the nearest smaller and larger M; 0: none.
  };
  /// Costs one cache miss for the group, and one or two inside it.
  AdjacentRows around(const GroupKey& key, int64_t m) const noexcept;
  void prefetch(const GroupKey& key) const noexcept {
    __builtin_prefetch(&groups_[(print_of(key) >> 8) & (groups_.size() - 1)]);
  }
  uint64_t num_bytes() const noexcept;

 private:
  struct Group {
    uint64_t print = 0;  ///< 0: a free slot.
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

  std::vector<Group, HugePages<Group>> groups_;  ///< Open addressing; the size is a power of two, at most 70 % used.
  std::vector<Place, HugePages<Place>> places_;  ///< Sorted by group and M.
};

}  // namespace attune
