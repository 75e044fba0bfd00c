// SPDX-License-Identifier: MIT
#include "store/compaction.h"

#include <fmt/format.h>

namespace attune {
namespace {

std::string attempt(const Problem& problem, const std::string& device, const Candidate& candidate) {
  return fmt::format("{}\n{}\n{}", problem.key(), device, candidate.name());
}

}  // namespace

Compaction::Fate Compaction::judge(const Started& started) {
  // A Started that no Record follows is the trace of a death; the others have done their work.
  return measured_.contains(hash128(attempt(started.problem, started.device, started.candidate))) ? Fate::drop
                                                                                                  : Fate::keep;
}

Compaction::Fate Compaction::judge(const Record& record) {
  std::string identity = attempt(record.problem, record.device, record.candidate);
  measured_.insert(hash128(identity));
  identity += fmt::format("\n{}\n{}", record.protocol.key(), name(record.stage));
  for (const auto& [component, version] : record.versions) identity += fmt::format("\n{}={}", component, version);
  const bool newest = superseded_.insert(hash128(identity)).second;
  const bool has_samples = record.outcome.measurement && !record.outcome.measurement->samples.empty();
  return newest || !has_samples ? Fate::keep : Fate::strip;
}

Compaction::Fate Compaction::judge(const Entry& entry) {
  if (const auto* started = std::get_if<Started>(&entry)) return judge(*started);
  if (const auto* record = std::get_if<Record>(&entry)) return judge(*record);
  return Fate::keep;
}

Record stripped(Record record) {
  if (record.outcome.measurement) record.outcome.measurement->samples.clear();
  return record;
}

}  // namespace attune
