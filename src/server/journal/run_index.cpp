// SPDX-License-Identifier: MIT
#include "server/journal/run_index.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace attune {

namespace {

constexpr int64_t kSlotMs = 10'000, kMinuteMs = 60'000;

}  // namespace

void RecentCount::add(int64_t at_ms) {
  const int64_t number = at_ms / kSlotMs;
  Slot& slot = slots_[static_cast<size_t>(number) % slots_.size()];
  if (slot.number > number) return;  // An older entry.
  if (slot.number < number) slot = {.number = number};
  ++slot.count;
}

double RecentCount::a_minute(int64_t begin_ms, int64_t now_ms) const {
  const int64_t first = now_ms / kSlotMs - (kMinuteMs / kSlotMs - 1);  // The current slot is not over yet.
  uint64_t count = 0;
  for (const Slot& slot : slots_) {
    if (slot.number >= first) count += slot.count;
  }
  const int64_t span_ms = now_ms - std::max(begin_ms, first * kSlotMs);
  return span_ms > 0 ? static_cast<double>(count) * kMinuteMs / static_cast<double>(span_ms) : 0;
}

std::optional<double> RunRow::left_s(int64_t now_ms) const {
  constexpr int64_t kSilentMs = 10 * kMinuteMs;
  if (end_ms != 0 || num_decisions == 0 || num_problems <= num_decisions || now_ms - last_ms > kSilentMs)
    return std::nullopt;
  const double a_problem_s = static_cast<double>(last_ms - begin_ms) / 1000 / static_cast<double>(num_decisions);
  return a_problem_s * static_cast<double>(num_problems - num_decisions);
}

std::optional<double> RunRow::mean_ratio() const {
  return num_ratios == 0 ? std::nullopt : std::optional(std::exp(sum_log_ratio / static_cast<double>(num_ratios)));
}

void RunIndex::count(const EntryHeading& heading) {
  if (heading.stamp.run == 0) return;
  RunRow& row = runs_[heading.stamp.run];
  row.run = heading.stamp.run;
  if (heading.kind == EntryKind::decision) ++row.num_decisions;
  if (heading.kind == EntryKind::record) ++row.num_records;
  row.last_ms = std::max(row.last_ms, heading.stamp.at_ms);
  if (heading.stage != name(Stage::verify)) return;
  row.candidates.add(heading.stamp.at_ms);
  if (heading.status != name(Status::ok)) ++row.failures[heading.status];
}

void RunIndex::add(const Entry& entry, const Stamp& stamp) {
  if (stamp.run == 0) return;
  RunRow& row = runs_[stamp.run];
  row.run = stamp.run;
  if (const auto* begin = std::get_if<RunBegin>(&entry)) {
    row.begin_ms = stamp.at_ms;
    row.command = join(begin->command, " ");
    row.version = begin->version;
    row.host = begin->host;
    row.device = begin->device;
    row.fingerprint = begin->fingerprint;
    row.description = begin->description;
    row.num_problems = begin->num_problems;
  } else if (const auto* end = std::get_if<RunEnd>(&entry)) {
    row.end_ms = stamp.at_ms;
    row.state = end->ending;
    row.exit_status = end->exit_status;
  } else if (const auto* decision = std::get_if<Decision>(&entry)) {
    if (decision->verdict == Verdict::faster) ++row.num_faster;
    const double ratio = decision->over_default().ratio;
    if (!std::isfinite(ratio) || ratio <= 0) return;
    ++row.num_ratios;
    row.sum_log_ratio += std::log(ratio);
  }
}

std::vector<RunRow> RunIndex::newest(int64_t before, size_t limit) const {
  std::vector<RunRow> rows;
  auto run = before == 0 ? runs_.end() : runs_.lower_bound(before);
  while (run != runs_.begin() && rows.size() < limit) rows.push_back((--run)->second);
  return rows;
}

const RunRow* RunIndex::find(int64_t run) const {
  const auto found = runs_.find(run);
  return found == runs_.end() ? nullptr : &found->second;
}

}  // namespace attune
