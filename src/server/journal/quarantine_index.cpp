// SPDX-License-Identifier: MIT
#include "server/journal/quarantine_index.h"

#include <algorithm>

namespace attune {

void QuarantineIndex::add(const EntryHeading& heading) {
  if (heading.kind == EntryKind::pardon) {
    int64_t& newest = pardons_[{heading.device, heading.candidate}];
    newest = std::max(newest, heading.stamp.id);
    return;
  }
  if (heading.kind != EntryKind::record || heading.stage != name(Stage::verify)) return;
  if (heading.status != name(Status::crashed) && heading.status != name(Status::timed_out)) return;
  int64_t& newest = newest_[{heading.device, heading.candidate, heading.problem}];
  if (heading.stamp.id < newest) return;
  deaths_.erase(newest);
  newest = heading.stamp.id;
  deaths_.insert_or_assign(newest, heading);
}

void QuarantineIndex::add(const BanChange& change, const Stamp& stamp) {
  if (change.lifted) return;  // Which bans hold is known from their list.
  auto& newest = bans_[{change.ban.candidate, change.ban.device, change.ban.problem}];
  if (newest.second.id <= stamp.id) newest = {change, stamp};
}

std::vector<EntryHeading> QuarantineIndex::newest(int64_t before, size_t limit) const {
  std::vector<EntryHeading> found;
  auto at = before == 0 ? deaths_.end() : deaths_.lower_bound(before);
  while (at != deaths_.begin() && found.size() < limit) {
    --at;
    const auto pardon = pardons_.find({at->second.device, at->second.candidate});
    if (pardon == pardons_.end() || pardon->second < at->first) found.push_back(at->second);
  }
  return found;
}

std::optional<std::pair<BanChange, Stamp>> QuarantineIndex::made(const Ban& ban) const {
  const auto found = bans_.find({ban.candidate, ban.device, ban.problem});
  return found == bans_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace attune
