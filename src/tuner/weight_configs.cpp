// SPDX-License-Identifier: MIT
#include "tuner/weight_configs.h"
#include "ops/packed_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "measure/contenders.h"
#include "search/prune.h"
#include "search/weight_group.h"

namespace attune {
namespace {

bool is_invariant(const Candidate& candidate, const Problem& problem, const std::vector<Contender>& here,
                  const DeviceInfo& device) {
  const Contender* own = find_contender(here, candidate.solver);
  return own != nullptr && own->version == candidate.version && own->invariant.size() > 0 &&
         !why_outside(own->invariant, candidate.config, problem, device);
}

/// Whether every row is decided, and all for one candidate.
bool has_one_winner(const std::vector<TuneResult*>& rows) {
  return std::all_of(rows.begin(), rows.end(), [&](const TuneResult* row) {
    return row->decision && rows.front()->decision && row->decision->winner == rows.front()->decision->winner;
  });
}

constexpr const char* kNotOneConfig =
    "the time ran out before all rows of its weight had one config; run again to continue";

void undecide(TuneResult& row, const std::string& reason) {
  row.decision.reset();
  row.ending = Ending::cut;
  row.reason = reason;
}

}  // namespace

void WeightConfigs::settle(std::vector<TuneResult>& results, const std::atomic<bool>& interrupted) {
  end_s_ = clock_.now_s() + how_.budget_s;
  std::map<std::string, Rows> weights;
  std::set<std::string> incomplete;
  for (TuneResult& result : results) {
    const std::string weight = weight_group_of(result.problem);
    if (result.decision) weights[weight].push_back(&result);
    if (!result.decision && result.ending == Ending::cut) incomplete.insert(weight);
  }
  for (const auto& [weight, rows] : weights) {
    const bool is_whole = !incomplete.contains(weight);
    try {
      if (is_whole && !interrupted) settle_weight(rows, interrupted);
    } catch (const Error&) {
      if (!interrupted) throw;  // After an interrupt, the error is an aborted request.
    }
    // An undecided row may still have an older row in the table, with another config.
    if (is_whole && has_one_winner(rows)) continue;
    for (TuneResult* row : rows) {
      if (row->decision) undecide(*row, interrupted ? "interrupted before its weight had one config" : kNotOneConfig);
    }
  }
}

void WeightConfigs::settle_weight(const Rows& rows, const std::atomic<bool>& interrupted) {
  auto times_by_row = times(rows, interrupted);
  while (const auto chosen = choose_config(times_by_row)) {
    if (decide_with(*chosen, rows, interrupted)) return;
    if (is_budget_spent()) return;
    notices_.push_back(fmt::format("{} does not serve every row of a weight, another config is taken: {}",
                                   chosen->name(), weight_group_of(rows.front()->problem)));
    for (auto& times_of_row : times_by_row) times_of_row.erase(*chosen);
  }
  for (TuneResult* row : rows) undecide(*row, "no batch-invariant config was timed in every row of its weight");
}

/// Times of each row's batch-invariant candidates: the newest medians of this machine and protocol.
std::vector<std::map<Candidate, double>> WeightConfigs::times(const Rows& rows,
                                                              const std::atomic<bool>& interrupted) const {
  const TuningDevice& first = devices_.front();
  const DeviceInfo& device = first.executor.device();
  const auto tick = [&] {
    observer_.tick();
    return interrupted.load();
  };
  std::vector<std::map<Candidate, double>> all;
  for (const TuneResult* row : rows) {
    const auto here = contenders(first.executor, row->problem, how_.protocol, tick);
    auto& of_row = all.emplace_back();
    const Query query{.problem = row->problem,
                      .fingerprint = device.fingerprint(),
                      .protocol = how_.protocol,
                      .started = false,
                      .decisions = false,
                      .pardons = false};
    first.journal.scan(query, [&](const Entry& entry, const Stamp&) {
      const auto* record = std::get_if<Record>(&entry);
      if (record == nullptr) return;
      if (!record->outcome.ok()) {
        of_row.erase(record->candidate);
      } else if (record->outcome.measurement && record->outcome.measurement->median_us > 0 &&
                 is_invariant(record->candidate, row->problem, here, device)) {
        of_row[record->candidate] = record->outcome.measurement->median_us;
      }
    });
  }
  return all;
}

/// Returns false if the config failed in a row. A row that a budget or an interrupt ended only loses its decision.
bool WeightConfigs::decide_with(const Candidate& chosen, const Rows& rows, const std::atomic<bool>& interrupted) {
  std::vector<WorkItem> items;
  Rows others;
  for (TuneResult* row : rows) {
    if (row->decision && row->decision->winner == chosen) continue;
    WorkItem item{.problem = row->problem, .candidates = {chosen}, .defaults_may_win = false};
    const auto known =
        std::find_if(items_.begin(), items_.end(), [&](const WorkItem& one) { return one.problem == row->problem; });
    if (known != items_.end()) item.incumbent = known->incumbent;
    items.push_back(std::move(item));
    others.push_back(row);
  }
  if (items.empty()) return true;
  TunerOptions how = how_;
  how.before_measuring = nullptr;
  // Once the time is spent, the run only reuses results of the journal.
  if (how.budget_s > 0) how.budget_s = std::max(1e-3, end_s_ - clock_.now_s());
  ProgressObserver progress(observer_);
  auto again = Tuner(devices_, how, clock_).run(items, progress, interrupted);
  for (size_t i = 0; i < again.size(); ++i) {
    if (!again[i].decision && again[i].ending != Ending::cut) return false;
    again[i].seconds += others[i]->seconds;
    again[i].failures.insert(again[i].failures.begin(), others[i]->failures.begin(), others[i]->failures.end());
    *others[i] = std::move(again[i]);
  }
  return true;
}

}  // namespace attune
