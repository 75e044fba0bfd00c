// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "store/compaction.h"
#include "store/journal.h"
#include "store/outcome_scan.h"

namespace attune {
namespace {

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
    size_t num_visited = 0;
    for (size_t i = 0; i < entries_.size(); ++i) {
      const auto& [entry, stamp] = entries_[query.newest_first ? entries_.size() - 1 - i : i];
      if (!matches(query, entry, stamp)) continue;
      visit(entry, stamp);
      if (++num_visited == query.limit) break;
    }
    return 0;
  }

  size_t visit_outcomes(const Query& query, const OutcomeVisitor& visit) const override {
    return visit_scanned_outcomes(*this, query, visit);
  }

  EntryCounts count(const Query& query) const override {
    EntryCounts counts;
    for (const auto& [entry, stamp] : entries_) {
      if (matches(query, entry, stamp)) add(counts, entry.index(), 1);
    }
    return counts;
  }

  bool is_in_place() const noexcept override { return true; }

  void visit_headings(const Query& query, const std::function<void(const EntryHeading&)>& visit) const override {
    scan(query, [&](const Entry& entry, const Stamp& stamp) { visit(heading_of(entry, stamp)); });
  }

  std::optional<Decision> decision(const Problem& problem, const std::string& fingerprint, const Versions& versions,
                                   const Protocol& protocol) const override {
    const Query query{.problem = problem, .fingerprint = fingerprint, .protocol = protocol};
    for (auto stored = entries_.rbegin(); stored != entries_.rend(); ++stored) {
      const auto* found = std::get_if<Decision>(&stored->entry);
      if (found && matches(query, stored->entry, stored->stamp) && compare(found->versions, versions) == Age::current)
        return *found;
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
