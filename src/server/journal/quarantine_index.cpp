// SPDX-License-Identifier: MIT
#include "server/journal/quarantine_index.h"

#include <fmt/format.h>

namespace attune {
namespace {

bool is_verdict(const EntryHeading& heading) {
  return heading.kind == EntryKind::record && heading.stage == name(Stage::verify);
}

bool is_death(const EntryHeading& heading) {
  const auto status = parse_status(heading.status);
  return status && is_dangerous(*status);
}

/// What a pardon is about, and the beginning of what a verdict is about.
std::string pardon_key(const EntryHeading& heading) { return fmt::format("{}\n{}", heading.device, heading.candidate); }
std::string verdict_key(const EntryHeading& heading) {
  return fmt::format("{}\n{}", pardon_key(heading), heading.problem);
}

}  // namespace

void QuarantineIndex::put(const EntryHeading& heading) {
  deaths_.emplace(heading.stamp.id,
                  QuarantineVerdict{heading.stamp, heading.problem, heading.device, heading.candidate, heading.status});
  places_.emplace(Place{heading.device, heading.candidate, heading.problem}, heading.stamp.id);
}

void QuarantineIndex::erase(std::map<Place, int64_t>::iterator place) {
  deaths_.erase(place->second);
  places_.erase(place);
}

void QuarantineIndex::add_newest(const EntryHeading& heading) {
  if (heading.kind == EntryKind::pardon) {
    const auto is_pardoned = [&](const Place& place) {
      return std::get<0>(place) == heading.device && std::get<1>(place) == heading.candidate;
    };
    auto place = places_.lower_bound({heading.device, heading.candidate, ""});
    while (place != places_.end() && is_pardoned(place->first)) erase(place++);
  } else if (is_verdict(heading)) {
    const auto place = places_.find({heading.device, heading.candidate, heading.problem});
    if (place != places_.end()) erase(place);
    if (is_death(heading)) put(heading);
    if (deaths_.size() > max_deaths_) {
      const QuarantineVerdict& oldest = deaths_.begin()->second;
      erase(places_.find({oldest.device, oldest.candidate, oldest.problem}));
    }
  } else {
    return;
  }
  if (!has_oldest_ && !seen_.is_full()) seen_.insert(is_verdict(heading) ? verdict_key(heading) : pardon_key(heading));
}

void QuarantineIndex::add_oldest(const EntryHeading& heading) {
  if (seen_.is_full()) return;  // It is not known any more what came of this one.
  if (heading.kind == EntryKind::pardon) seen_.insert(pardon_key(heading));
  if (!is_verdict(heading) || !seen_.insert(verdict_key(heading))) return;
  if (is_death(heading) && !seen_.contains(pardon_key(heading)) && deaths_.size() < max_deaths_) put(heading);
}

void QuarantineIndex::end_oldest() {
  has_oldest_ = true;
  seen_.clear();
}

void QuarantineIndex::add(const BanChange& change, const Stamp& stamp) {
  if (change.lifted) return;  // Which bans hold is known from their list.
  auto& newest = bans_[{change.ban.candidate, change.ban.device, change.ban.problem}];
  if (newest.second.id <= stamp.id) newest = {change, stamp};
}

std::vector<QuarantineVerdict> QuarantineIndex::newest(int64_t before, size_t limit) const {
  std::vector<QuarantineVerdict> found;
  auto at = before == 0 ? deaths_.end() : deaths_.lower_bound(before);
  while (at != deaths_.begin() && found.size() < limit) found.push_back((--at)->second);
  return found;
}

std::optional<std::pair<BanChange, Stamp>> QuarantineIndex::made(const Ban& ban) const {
  const auto found = bans_.find({ban.candidate, ban.device, ban.problem});
  return found == bans_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace attune
