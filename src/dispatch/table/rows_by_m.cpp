// SPDX-License-Identifier: MIT
#include "dispatch/table/rows_by_m.h"

#include <algorithm>
#include <tuple>

namespace attune {

RowsByM::RowsByM(std::vector<Member> members) {
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return std::tie(a.group, a.m) < std::tie(b.group, b.m); });
  size_t num_groups = 0, size = 1;
  for (size_t i = 0; i < members.size(); ++i) num_groups += i == 0 || members[i].group != members[i - 1].group;
  while (7 * size < 10 * (num_groups + 1)) size *= 2;
  groups_.resize(size);
  places_.reserve(members.size());
  for (const Member& member : members) {
    Group& group = groups_[slot_of(member.group)];
    if (group.count++ == 0) {
      group.print = member.group;
      group.first = static_cast<uint32_t>(places_.size());
    }
    places_.push_back({member.m, member.row});
  }
}

RowsByM::AdjacentRows RowsByM::around(const GroupKey& key, int64_t m) const noexcept {
  const Group& group = groups_[slot_of(print_of(key))];
  const Place* const begin = places_.data() + group.first;
  const Place* const end = begin + group.count;
  const Place* const at =
      std::lower_bound(begin, end, m, [](const Place& place, int64_t than) { return int64_t{place.m} < than; });
  const Place* const above = at != end && int64_t{at->m} == m ? at + 1 : at;
  return {at == begin ? 0 : at[-1].row, above == end ? 0 : above->row};
}

uint64_t RowsByM::num_bytes() const noexcept {
  return groups_.capacity() * sizeof(Group) + places_.capacity() * sizeof(Place);
}

}  // namespace attune
