// SPDX-License-Identifier: MIT
#include "campaign/publisher.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "formats/csv/publish.h"
#include "formats/csv/published_row.h"
#include "ops/packed_weights.h"
#include "report/result_table.h"
#include "search/weight_group.h"

namespace attune {

TuneGemmEntry results_entry(const Problem& problem, const Candidate& winner, double us, const DeviceInfo& device) {
  TuneGemmEntry entry;
  entry.problem = problem;
  entry.candidate = winner.name();
  entry.parameters = script_parameters(winner);
  entry.device = device.key();
  if (us > 0) {  // A kept row may not know its time.
    entry.us = us;
    entry.tflops = published_row(problem, winner, us, 0).tflops;
  }
  return entry;
}

namespace {

TuneGemmEntry entry_of(const Decision& decision, const DeviceInfo& device) {
  TuneGemmEntry entry = results_entry(decision.problem, decision.winner, decision.comparison.us, device);
  const auto& [low, high] = decision.comparison.interval;
  if (decision.has_default() && decision.winner != decision.baseline && decision.comparison.ratio > 0)
    entry.noise = (high - low) / 2 / decision.comparison.ratio * 100;
  const Finalist* next = nullptr;
  for (const Finalist& one : decision.finalists) {
    const bool is_timed = one.candidate != decision.winner && one.comparison.us > 0;
    if (is_timed && (next == nullptr || one.comparison.us < next->comparison.us)) next = &one;
  }
  if (next != nullptr) entry.runner_up = next->candidate.name();
  return entry;
}

}  // namespace

TunePublisher::TunePublisher(const TuneOptions& options, const TuneInputs& inputs, const DeviceInfo& device)
    : options_(options), inputs_(inputs), device_(device) {
  for (const WorkItem& item : inputs.items) {
    if (item.has_row) rows_.emplace(item.problem.key(), item.incumbent);
  }
}

void TunePublisher::finished(const TuneResult& result) {
  // A row that is already in the table was published when it was decided, and may have been replaced since.
  const auto row = rows_.find(result.problem.key());
  // When resuming a run over all shapes: the previous process may have died after deciding and before publishing.
  const bool stays =
      row != rows_.end() && !options_.all && (result.ending == Ending::kept || result.ending == Ending::reused);
  if (stays && row->second) {
    entries_of_rows_.push_back(results_entry(result.problem, row->second->candidate, row->second->us, device_));
    if (result.decision && !has_packed_weights(result.problem) && row->second->candidate != result.decision->winner)
      ++num_other_rows_;
  }
  if (result.decision) add(*result.decision, !stays);
}

void TunePublisher::add(const Decision& decision, bool is_new) {
  if (has_packed_weights(decision.problem)) {
    packed_.push_back({decision, is_new});
    return;
  }
  if (!is_new) return;
  pending_.push_back(decision);
  // The YAML file is written after every shape, because older tools have no journal to read.
  if (static_cast<int64_t>(pending_.size()) >= options_.batch || !inputs_.yaml.empty()) publish_pending();
}

void TunePublisher::flush() {
  choose_layouts();
  publish_pending();
  if (num_other_rows_ > 0) {
    notices_.push_back(fmt::format(
        "{}: {} with another kernel than its earlier decision, which is shown here; `--all` decides again",
        inputs_.table.string(), num_other_rows_ == 1 ? "1 row stays" : fmt::format("{} rows stay", num_other_rows_)));
    num_other_rows_ = 0;
  }
  // A table is sorted even if each of its rows stays.
  if (options_.sort && !inputs_.table.empty() && std::filesystem::exists(inputs_.table)) publish_rows();
}

/// Chooses one layout for the rows of each weight group, because weights are packed once for every M. The journal keeps
/// each row's own decision and winner.
void TunePublisher::choose_layouts() {
  std::map<std::string, std::vector<GroupRow>> groups;
  std::set<std::string> changed;
  for (const auto& [decision, is_new] : packed_) {
    const std::string group = weight_group_of(decision.problem);
    groups[group].push_back({&decision});
    if (is_new) changed.insert(group);
  }
  for (const auto& [group, rows] : groups) {
    if (!changed.contains(group)) continue;
    const GroupChoice choice = choose_layout(rows, options_.min_gain_pct / 100);
    if (choice.layout.empty()) {
      notices_.push_back(fmt::format("no layout of the weights serves all of {}: {}; each row has its own",
                                     counted(rows.size(), "row"), group));
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      const Decision& own = *rows[i].decision;
      pending_.push_back(published_decision(own, choice.picks[i]));
      if (pending_.back().winner != own.winner) replaced_.push_back(pending_.back());
    }
  }
  packed_.clear();
}

size_t TunePublisher::position(const Problem& problem) const {
  const auto& items = inputs_.items;
  return static_cast<size_t>(
      std::find_if(items.begin(), items.end(), [&](const WorkItem& item) { return item.problem == problem; }) -
      items.begin());
}

void TunePublisher::publish_pending() {
  // Shapes do not end in input order: a tie ends at once, a gain after its confirm.
  const auto in_input_order = [&](const auto& a, const auto& b) { return position(a.problem) < position(b.problem); };
  std::sort(pending_.begin(), pending_.end(), in_input_order);
  if (!inputs_.table.empty() && !pending_.empty()) publish_rows();
  if (!inputs_.yaml.empty()) {
    std::vector<TuneGemmEntry> entries = std::exchange(entries_of_rows_, {});
    for (const Decision& decision : pending_) entries.push_back(entry_of(decision, device_));
    std::sort(entries.begin(), entries.end(), in_input_order);
    if (!entries.empty()) publish_tune_gemm(inputs_.yaml, entries);
  }
  pending_.clear();
}

void TunePublisher::publish_rows() {
  std::vector<PublishedRow> rows;
  for (const Decision& decision : pending_) rows.push_back(published_row(decision, device_));
  const PublishOptions how{.update_improved = options_.update_improved,
                           .min_improvement_pct = options_.min_improvement_pct,
                           .sort = options_.sort};
  const auto report = publish(inputs_.table, *inputs_.family, rows, how);
  notices_.insert(notices_.end(), report.notices.begin(), report.notices.end());
  for (const RetainedRow& kept : report.kept_back) {
    notices_.push_back(fmt::format("kept the old row of {}: {} ({:.4f} µs, now {:.4f} µs)", short_shape(kept.problem),
                                   kept.reason, kept.old_us, kept.new_us));
  }
}

}  // namespace attune
