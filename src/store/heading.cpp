// SPDX-License-Identifier: MIT
#include "store/heading.h"

#include <array>

namespace attune {

static_assert(std::is_same_v<std::variant_alternative_t<static_cast<size_t>(EntryKind::started), Entry>, Started>);
static_assert(std::is_same_v<std::variant_alternative_t<static_cast<size_t>(EntryKind::decision), Entry>, Decision>);
static_assert(std::is_same_v<std::variant_alternative_t<static_cast<size_t>(EntryKind::run_end), Entry>, RunEnd>);
static_assert(std::is_same_v<std::variant_alternative_t<static_cast<size_t>(EntryKind::ban), Entry>, BanChange>);

namespace {

void set_candidate(EntryHeading& heading, const Candidate& candidate) {
  heading.solver = candidate.solver;
  heading.candidate = candidate.name();
}

/// For entries about a problem.
template <typename Tried>
void set_place(EntryHeading& heading, const Tried& tried) {
  heading.problem = tried.problem.key();
  heading.device = tried.device;
  heading.fingerprint = tried.fingerprint;
}

void set(EntryHeading& heading, const Started& started) {
  set_place(heading, started);
  set_candidate(heading, started.candidate);
}

void set(EntryHeading& heading, const Record& record) {
  set_place(heading, record);
  set_candidate(heading, record.candidate);
  heading.stage = name(record.stage);
  heading.status = name(record.outcome.status);
}

void set(EntryHeading& heading, const Decision& decision) {
  set_place(heading, decision);
  set_candidate(heading, decision.winner);
  heading.status = name(decision.verdict);
}

void set(EntryHeading& heading, const Pardon& pardon) {
  heading.device = pardon.device;
  set_candidate(heading, pardon.candidate);
}

void set(EntryHeading& heading, const RunBegin& begin) {
  heading.device = begin.device;
  heading.fingerprint = begin.fingerprint;
}

/// Without its problem: the entry is found by queries of every problem, as a pardon is.
void set(EntryHeading& heading, const BanChange& change) {
  heading.device = change.ban.device;
  heading.solver = change.ban.candidate.substr(0, change.ban.candidate.find('@'));
  heading.candidate = change.ban.candidate;
}

void set(EntryHeading& heading, const RunEnd& end) { heading.status = end.ending; }

}  // namespace

std::string_view name(EntryKind kind) noexcept {
  static constexpr std::array<std::string_view, std::variant_size_v<Entry>> kNames = {
      "started", "record", "decision", "pardoned", "run_begin", "run_end", "ban"};
  return kNames[static_cast<size_t>(kind)];
}

EntryHeading heading_of(const Entry& entry, const Stamp& stamp) {
  EntryHeading heading{.stamp = stamp, .kind = static_cast<EntryKind>(entry.index())};
  std::visit([&](const auto& one) { set(heading, one); }, entry);
  return heading;
}

}  // namespace attune
