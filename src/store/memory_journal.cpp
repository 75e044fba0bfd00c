// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "store/compaction.h"
#include "store/journal.h"

namespace attune {
namespace {

bool is_device(const Query& query, const std::string& device) { return !query.device || *query.device == device; }

bool is_fingerprint(const Query& query, const std::string& fingerprint) {
  return !query.fingerprint || *query.fingerprint == fingerprint;
}

template <typename Tried>
bool is_place(const Query& query, const Tried& tried) {
  return (!query.problem || *query.problem == tried.problem) && is_device(query, tried.device) &&
         is_fingerprint(query, tried.fingerprint);
}

bool is_wanted(const Query& query, const Started& started) { return query.started && is_place(query, started); }

bool is_wanted(const Query& query, const Record& record) {
  return query.records && is_place(query, record) &&
         (!query.protocol || query.protocol->measured_key() == record.protocol.measured_key());
}

bool is_wanted(const Query& query, const Decision& decision) {
  return query.decisions && is_place(query, decision) &&
         (!query.protocol || (query.protocol->measured_key() == decision.protocol.measured_key() &&
                              query.protocol->searched_key() == decision.protocol.searched_key()));
}

/// A pardon belongs to a candidate, whatever the problem.
bool is_wanted(const Query& query, const Pardoned& pardoned) {
  return query.pardons && is_device(query, pardoned.device);
}

bool is_wanted(const Query& query, const RunBegin& run) {
  return query.runs && is_device(query, run.device) && is_fingerprint(query, run.fingerprint);
}

bool is_wanted(const Query& query, const RunEnd&) { return query.runs; }

class MemoryJournal final : public Journal {
 public:
  void append(std::span<const Entry> entries) override {
    for (const Entry& entry : entries) entries_.push_back({entry, {++last_id_, unix_ms(), run_}});
  }

  int64_t begin_run(const RunBegin& run) override {
    run_ = last_id_ + 1;
    const Entry entry = run;
    append({&entry, 1});
    return run_;
  }

  void join_run(int64_t run) override { run_ = run; }

  size_t scan(const Query& query, const std::function<void(const Entry&, const Stamp&)>& visit) const override {
    for (const auto& [entry, stamp] : entries_) {
      const auto wanted = [&](const auto& one) { return is_wanted(query, one); };
      if (stamp.id > query.after && std::visit(wanted, entry)) visit(entry, stamp);
    }
    return 0;
  }

  void visit_winners(const std::string& fingerprint, int64_t after,
                     const std::function<void(const Winner&)>& visit) const override {
    for (const auto& [entry, stamp] : entries_) {
      const auto* decision = std::get_if<Decision>(&entry);
      if (decision && decision->fingerprint == fingerprint && stamp.id > after)
        visit({stamp.id, decision->problem.key(), decision->winner.name()});
    }
  }

  std::optional<Decision> decision(const Problem& problem, const std::string& fingerprint, const Versions& versions,
                                   const Protocol& protocol) const override {
    const Query query{.problem = problem, .fingerprint = fingerprint, .protocol = protocol};
    for (auto stored = entries_.rbegin(); stored != entries_.rend(); ++stored) {
      const auto* found = std::get_if<Decision>(&stored->entry);
      if (found && is_wanted(query, *found) && compare(found->versions, versions) == Age::current) return *found;
    }
    return std::nullopt;
  }

  void compact() override {
    Compaction compaction;
    std::vector<StoredEntry> kept;
    for (auto stored = entries_.rbegin(); stored != entries_.rend(); ++stored) {
      const auto action = compaction.judge(stored->entry);
      if (action == Compaction::Action::drop) continue;
      if (action == Compaction::Action::strip) stored->entry = stripped(std::get<Record>(std::move(stored->entry)));
      kept.push_back(std::move(*stored));
    }
    std::reverse(kept.begin(), kept.end());
    entries_ = std::move(kept);
  }

 private:
  struct StoredEntry {
    Entry entry;
    Stamp stamp;
  };
  std::vector<StoredEntry> entries_;
  int64_t last_id_ = 0, run_ = 0;
};

}  // namespace

std::unique_ptr<Journal> open_memory_journal() { return std::make_unique<MemoryJournal>(); }

}  // namespace attune
