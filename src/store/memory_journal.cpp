// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "store/compaction.h"
#include "store/journal.h"

namespace attune {
namespace {

bool wanted(const Query& query, const Problem* problem, const std::string& device, const Protocol* protocol) {
  if (query.problem && (!problem || *query.problem != *problem)) return false;
  if (query.device && *query.device != device) return false;
  return !query.protocol || !protocol || query.protocol->key() == protocol->key();
}

bool wanted(const Query& query, const Entry& entry) {
  if (const auto* started = std::get_if<Started>(&entry))
    return query.started && wanted(query, &started->problem, started->device, nullptr);
  if (const auto* record = std::get_if<Record>(&entry))
    return query.records && wanted(query, &record->problem, record->device, &record->protocol);
  if (const auto* decision = std::get_if<Decision>(&entry))
    return query.decisions && wanted(query, &decision->problem, decision->device, &decision->protocol);
  // A pardon is of a candidate, whatever the problem.
  return query.pardons && (!query.device || *query.device == std::get<Pardoned>(entry).device);
}

class MemoryJournal final : public Journal {
 public:
  void append(std::span<const Entry> entries) override {
    entries_.insert(entries_.end(), entries.begin(), entries.end());
  }

  size_t scan(const Query& query, const std::function<void(const Entry&)>& visit) const override {
    for (const Entry& entry : entries_) {
      if (wanted(query, entry)) visit(entry);
    }
    return 0;
  }

  std::optional<Decision> decision(const Problem& problem, const std::string& device, const Versions& versions,
                                   const Protocol& protocol) const override {
    for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
      const auto* found = std::get_if<Decision>(&*entry);
      if (found && wanted({.problem = problem, .device = device, .protocol = protocol}, *entry) &&
          compare(found->versions, versions) != Age::stale)
        return *found;
    }
    return std::nullopt;
  }

  void compact() override {
    Compaction compaction;
    std::vector<Entry> kept;
    for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
      const auto fate = compaction.judge(*entry);
      if (fate == Compaction::Fate::keep) kept.push_back(std::move(*entry));
      if (fate == Compaction::Fate::strip) kept.push_back(stripped(std::get<Record>(std::move(*entry))));
    }
    std::reverse(kept.begin(), kept.end());
    entries_ = std::move(kept);
  }

 private:
  std::vector<Entry> entries_;
};

}  // namespace

std::unique_ptr<Journal> open_memory_journal() { return std::make_unique<MemoryJournal>(); }

}  // namespace attune
