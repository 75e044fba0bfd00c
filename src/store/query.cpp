// SPDX-License-Identifier: MIT
#include "store/query.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace attune {
namespace {

bool is_device(const Query& query, const std::string& device) { return !query.device || *query.device == device; }

bool is_fingerprint(const Query& query, const std::string& fingerprint) {
  return !query.fingerprint || *query.fingerprint == fingerprint;
}

template <typename Tried>
bool is_place(const Query& query, const Tried& tried) {
  return (!query.problem || *query.problem == tried.problem) && tried.problem.key().starts_with(query.problem_prefix) &&
         is_device(query, tried.device) && is_fingerprint(query, tried.fingerprint);
}

/// `status`: empty for entries that have none.
bool is_status(const Query& query, std::string_view status) {
  return query.statuses.empty() ||
         std::find(query.statuses.begin(), query.statuses.end(), status) != query.statuses.end();
}

bool is_wanted(const Query& query, const Started& started) {
  return query.started && is_place(query, started) && is_status(query, {});
}

bool is_wanted(const Query& query, const Record& record) {
  const bool is_stage =
      query.stages.empty() || std::find(query.stages.begin(), query.stages.end(), record.stage) != query.stages.end();
  return query.records && is_place(query, record) && is_stage && is_status(query, name(record.outcome.status)) &&
         (!query.protocol || query.protocol->measured_key() == record.protocol.measured_key());
}

bool is_wanted(const Query& query, const Decision& decision) {
  return query.decisions && is_place(query, decision) && is_status(query, name(decision.verdict)) &&
         (!query.protocol || (query.protocol->measured_key() == decision.protocol.measured_key() &&
                              query.protocol->searched_key() == decision.protocol.searched_key()));
}

/// A pardon belongs to a candidate, whatever the problem.
bool is_wanted(const Query& query, const Pardon& pardon) {
  return query.pardons && is_device(query, pardon.device) && is_status(query, {});
}

bool is_wanted(const Query& query, const RunBegin& run) {
  return query.runs && is_device(query, run.device) && is_fingerprint(query, run.fingerprint) && is_status(query, {});
}

bool is_wanted(const Query& query, const RunEnd& run) { return query.runs && is_status(query, run.ending); }

/// A ban of one problem is about a candidate all the same.
bool is_wanted(const Query& query, const BanChange& change) {
  return query.bans && (change.ban.device.empty() || is_device(query, change.ban.device)) && is_status(query, {});
}

}  // namespace

void add(EntryCounts& counts, size_t kind, int64_t number) {
  constexpr std::array<int64_t EntryCounts::*, 5> kMembers = {
      &EntryCounts::started, &EntryCounts::records, &EntryCounts::decisions, &EntryCounts::pardons, &EntryCounts::runs};
  static_assert(std::is_same_v<std::variant_alternative_t<4, Entry>, RunBegin>);
  if (kind < kMembers.size()) counts.*kMembers[kind] += number;
}

bool matches(const Query& query, const Entry& entry, const Stamp& stamp) {
  return stamp.id > query.after && (query.before == 0 || stamp.id < query.before) &&
         (!query.run || stamp.run == *query.run) &&
         std::visit([&](const auto& one) { return is_wanted(query, one); }, entry);
}

}  // namespace attune
