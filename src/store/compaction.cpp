// SPDX-License-Identifier: MIT
#include "store/compaction.h"

#include <fmt/format.h>

namespace attune {
namespace {

template <typename Tried>
std::string attempt(const Tried& tried) {
  return fmt::format("{}\n{}\n{}\n{}", tried.problem.key(), tried.device, tried.fingerprint, tried.candidate.name());
}

}  // namespace

Compaction::Action Compaction::judge(const Started& started) {
  // A Started entry without a later Record is the trace of a death; the others are no longer needed.
  return measured_.contains(hash128(attempt(started))) ? Action::drop : Action::keep;
}

Compaction::Action Compaction::judge(const Record& record) {
  std::string identity = attempt(record);
  measured_.insert(hash128(identity));
  identity += fmt::format("\n{}\n{}", record.protocol.measured_key(), name(record.stage));
  for (const auto& [component, version] : record.versions) identity += fmt::format("\n{}={}", component, version);
  for (const BinaryIdentity& one : record.binaries)
    identity += fmt::format("\n{} {} {}", one.recipe, one.toolchain, one.sha256);
  const bool newest = superseded_.insert(hash128(identity)).second;
  const bool has_samples = record.outcome.measurement && !record.outcome.measurement->samples.empty();
  return newest || !has_samples ? Action::keep : Action::strip;
}

Compaction::Action Compaction::judge(const Entry& entry) {
  if (const auto* started = std::get_if<Started>(&entry)) return judge(*started);
  if (const auto* record = std::get_if<Record>(&entry)) return judge(*record);
  return Action::keep;
}

Record stripped(Record record) {
  if (record.outcome.measurement) record.outcome.measurement->samples.clear();
  return record;
}

}  // namespace attune
