// SPDX-License-Identifier: MIT
#include "core/ban.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "core/candidate.h"

namespace attune {

std::string ban_clause(const Ban& ban) { return "is banned: " + ban.reason; }

bool is_bannable(std::string_view candidate) {
  const bool is_id = !candidate.empty() && std::all_of(candidate.begin(), candidate.end(), [](unsigned char one) {
    return std::isalnum(one) != 0 || one == '_' || one == '.';
  });
  if (is_id) return true;
  try {
    Candidate::parse(candidate);
    return true;
  } catch (const Error&) {
    return false;
  }
}

BanList::BanList(std::vector<Ban> bans) : bans_(std::move(bans)) {
  for (size_t i = 0; i < bans_.size(); ++i) by_candidate_.emplace(bans_[i].candidate, i);
}

const Ban* BanList::find_named(std::string_view candidate, std::string_view device, std::string_view problem) const {
  const auto [begin, end] = by_candidate_.equal_range(candidate);
  for (auto at = begin; at != end; ++at) {
    const Ban& ban = bans_[at->second];
    const bool is_here = ban.device.empty() || ban.device == device;
    if (is_here && (ban.problem.empty() || ban.problem == problem)) return &ban;
  }
  return nullptr;
}

const Ban* BanList::find(std::string_view kernel, std::string_view device, std::string_view problem) const {
  if (bans_.empty()) return nullptr;
  if (const Ban* ban = find_named(kernel, device, problem)) return ban;
  return find_named(kernel.substr(0, kernel.find('@')), device, problem);
}

std::string BanList::text() const {
  std::string text;
  for (const Ban& ban : bans_)
    text += ban.candidate + '\n' + ban.device + '\n' + ban.problem + '\n' + ban.reason + '\n';
  return text;
}

}  // namespace attune
