// SPDX-License-Identifier: MIT
#include "dispatch/dispatch_state.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/locations.h"
#include "dispatch/capture/registered_captures.h"
#include "dispatch/table/key_problem.h"
#include "dispatch/table/wanted_requirement.h"
#include "ops/op.h"

namespace attune {
namespace {

/// Throws invalid_input for options that exclude each other.
DispatcherOptions consistent(DispatcherOptions options) {
  if (options.online_tuning && options.require != Requirement::none)
    fail(ErrorCode::invalid_input,
         "online tuning finds rows that state no requirement, so it cannot be combined with one, here {}",
         text(options.require));
  if ((options.workspaces.allocate == nullptr) != (options.workspaces.release == nullptr))
    fail(ErrorCode::invalid_input, "an allocator of workspaces needs both functions, allocate and release");
  options.max_regret = regret_under(options.require, options.max_regret);
  // The application may change its folder later.
  options.capture = fixed_path(options.capture);
  for (auto& [op, files] : options.tables) {
    for (auto& file : files) file = fixed_path(file);
  }
  return options;
}

/// A function for each number of layouts, so that a lookup in one keeps its hit in registers.
template <size_t kLayouts>
[[gnu::noinline]] Hit first_row_of(const RowIndex& rows, const KeyCodes& codes, const Key& key,
                                   std::span<const GroupKey> groups, double max_regret) noexcept {
  MatchedRow first{.match = Match::fallback};
  visit_rows<kLayouts>(rows, codes.m_of(key), codes.n_of(key), codes.pads_m(), groups, max_regret,
                       [&](const MatchedRow& met) {
                         first = met;
                         return true;
                       });
  return {
      .row = first.number, .match = first.match, .regret_percent = percent_of(first.regret), .layout = first.layout};
}

}  // namespace

Hit first_row(const RowIndex& rows, const KeyCodes& codes, const Key& key, std::span<const GroupKey> groups,
              double max_regret) noexcept {
  return groups.size() == 1 ? first_row_of<1>(rows, codes, key, groups, max_regret)
                            : first_row_of<LayoutSet::kMax>(rows, codes, key, groups, max_regret);
}

Dispatcher::State::State(DispatcherOptions wanted)
    : options(consistent(std::move(wanted))),
      plans(options, codes, inbox, log),
      capture(options.capture.empty() ? nullptr : std::make_unique<Capture>(options.capture)),
      work(options, plans, inbox, misses, capture.get(), log) {
  const auto all = notices();
  // The notices of the solver modules come first and belong to the process, so only its first dispatcher logs them.
  static std::atomic<bool> are_said{false};
  const size_t num_said = are_said.exchange(true) ? registry(HostProcess::application).notices().size() : 0;
  for (size_t i = num_said; i < all.size(); ++i) log.say(all[i]);
}

Dispatcher::State::~State() {
  try {
    finish();
  } catch (...) {
    // Without memory the last messages are lost, but the application is not ended.
  }
}

std::vector<std::string> Dispatcher::State::notices() {
  const auto of_solvers = registry(HostProcess::application).notices();
  std::vector<std::string> all(of_solvers.begin(), of_solvers.end());
  for (std::string& notice : plans.notices()) all.push_back(std::move(notice));
  if (!work.why_not().empty()) all.push_back(work.why_not());
  return all;
}

const KeyCodes& Dispatcher::State::codes_of(const Key& key) const {
  if (const KeyCodes* own = codes.find(key.op())) return *own;
  fail(ErrorCode::invalid_input, "unknown op number: {}", static_cast<int>(key.op()));
}

Key Dispatcher::State::short_key(const Key& key) const {
  const KeyCodes& own = codes_of(key);
  if (const auto shortened = own.shorten(key)) return *shortened;
  const auto columns = own.family().key;
  const auto last_required = std::find_if(columns.rbegin(), columns.rend(),
                                          [](const AttributeSpec& one) { return one.default_value.empty(); });
  const auto min = static_cast<size_t>(columns.rend() - last_required);
  fail(ErrorCode::invalid_input, "a key of {} has {}{} values, `attune list ops --json` names them, got {}",
       own.family().op, min < own.size() ? fmt::format("{} to ", min) : "", own.size(), key.size());
}

Problem Dispatcher::State::problem(const Key& key) const {
  const Problem asked = problem_to_compute(codes_of(key), short_key(key));
  return op_of(asked).normalise(asked, plans.present().info);
}

Problem Dispatcher::State::read_problem(std::string_view text) const {
  const Problem asked = Problem::parse(text);
  return op_of(asked).normalise(asked, plans.present().info);
}

DispatchCounts Dispatcher::State::counts() const {
  const CallCounters::Sums sums = counters.sums();
  DispatchCounts all = plans.counts();
  all.calls = sums.calls;
  all.misses = sums.misses;
  return all;
}

void Dispatcher::State::finish() {
  if (is_finished.exchange(true)) return;
  // Otherwise the destructor waits for the thread, if it runs.
  work.stop(std::chrono::seconds(2));
  std::optional<std::string> capture_error;
  if (capture) capture_error = capture->flush();
  if (plans.is_in_child()) return;  // Another thread of the parent may have held the log's lock.
  log.finish(counts(), has_left, capture_error, was_capture_made());
}

}  // namespace attune
