// SPDX-License-Identifier: MIT
#include "report/journal_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "base/error.h"

namespace attune {
namespace {

/// Hashes the candidate of a problem in an announcement or a record.
template <typename Trial>
Hash128 candidate_hash(const Trial& trial) {
  return hash128(fmt::format("{}\n{}\n{}", trial.problem.key(), trial.device, trial.candidate.name()));
}

Query decisions_of(Query query) {
  query.started = query.records = query.pardons = query.runs = false;
  return query;
}

}  // namespace

bool is_entry_status(std::string_view text) {
  const bool is_ending = text == "done" || text == "failed" || text == "interrupted";
  return is_ending || parse_status(text) || parse_verdict(text);
}

int64_t newest_entry_id(const Journal& journal) {
  int64_t newest = 0;
  journal.scan({.newest_first = true, .limit = 1, .runs = true},
               [&](const Entry&, const Stamp& stamp) { newest = stamp.id; });
  return newest;
}

void check_run(const Journal& journal, int64_t run) {
  if (run == 0) return;
  bool is_there = false;
  journal.scan({.run = run, .limit = 1, .runs = true}, [&](const Entry&, const Stamp&) { is_there = true; });
  if (is_there) return;
  fail(ErrorCode::invalid_input,
       "the journal has no such run; `attune journal show` lists the runs of decisions, and `attune journal follow` "
       "without --run shows a run as it begins: {}",
       run);
}

NewestDecisions newest_decisions(const Journal& journal, Query query, size_t max_decisions) {
  query = decisions_of(query);
  NewestDecisions newest;
  query.newest_first = true;
  query.limit = max_decisions;
  newest.num_damaged = journal.scan(query, [&](const Entry& entry, const Stamp& stamp) {
    newest.decisions.emplace_back(std::get<Decision>(entry), stamp);
  });
  std::reverse(newest.decisions.begin(), newest.decisions.end());
  return newest;
}

size_t count_decisions(const Journal& journal, Query query) {
  return static_cast<size_t>(journal.count(decisions_of(query)).decisions);
}

void EntryTally::add(const Entry& entry) {
  if (const auto* started = std::get_if<Started>(&entry)) candidates_.insert(candidate_hash(*started));
  if (const auto* record = std::get_if<Record>(&entry)) {
    candidates_.insert(candidate_hash(*record));
    ++num_records_;
  }
  num_decisions_ += std::holds_alternative<Decision>(entry);
}

}  // namespace attune
