// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "attune/capture.h"
#include "attune/dispatcher.h"
#include "dispatch/background_work.h"
#include "dispatch/inbox.h"
#include "dispatch/plan_service.h"
#include "dispatch/table/key_codes.h"
#include "dispatch/table/matched_rows.h"
#include "dispatch/table/weights_layouts.h"
#include "dispatch/threads/call_counters.h"
#include "dispatch/threads/dispatch_log.h"
#include "dispatch/threads/read_guard.h"

namespace attune {

/// Returns the first row that matches a lookup, without checking its kernel. `groups`: group keys of the problem in
/// each layout of its weights, at most LayoutSet::kMax.
Hit first_row(const RowIndex& rows, const GemmKey& key, bool pads_m, std::span<const GroupKey> groups,
              double max_regret) noexcept;

/// The dispatcher's implementation: the lookups, which take no lock, over the parts that make answers.
struct Dispatcher::State {
  explicit State(DispatcherOptions wanted);
  ~State();

  /// Whether a lookup posts an unanswered problem to the dispatcher's thread. Lookups of require() do not.
  enum class OnMiss : uint8_t { post, ignore };
  /// Returns the cached answer to a problem, else the first row that matches in the tables. `hash`: request.hash().
  /// `groups`: group keys of the problem in each layout of its weights, at most LayoutSet::kMax. Takes no lock and does
  /// no I/O; allocates only in a thread's first call.
  Hit look_up(const LookupRequest& request, const ProblemKey& hash, std::span<const GroupKey> groups,
              OnMiss on_miss) noexcept;
  Hit choose(const GemmKey& key, OnMiss on_miss) noexcept;
  /// Like Dispatcher's functions for weights packed ahead. Defined in weights.cpp.
  Hit choose(GemmKey key, const Weights& weights, OnMiss on_miss = OnMiss::post) noexcept;
  Hit require(GemmKey key, const Weights& weights);
  Weights pack(GemmKey key, const void* plain, const PackOptions& wanted);
  static void* copy_of(const Weights& weights, const Hit& hit) noexcept;  ///< The copy that hit.plan reads.
  bool holds(const Weights& weights, GemmKey key) const noexcept;
  /// Parses and normalises a problem. Throws invalid_input.
  Problem read_problem(std::string_view text) const;
  std::vector<std::string> notices();
  DispatchCounts counts() const;
  /// Ends the thread, writes captured shapes and logs the misses. Further calls do nothing.
  void finish();

  const DispatcherOptions options;
  const std::vector<KeyCodes> codes;  ///< Indexed by OpId.
  DispatchLog log;
  Inbox inbox;
  PlanService plans;
  CallCounters counters;
  const std::unique_ptr<Capture> capture;  ///< Null: shapes are not captured.
  std::atomic<bool> is_finished{false};
  BackgroundWork work;  ///< Last: its thread uses the others.
};

// Inlined: a call would cost an exact lookup a fifth of its time.
[[gnu::always_inline]] inline Hit Dispatcher::State::look_up(const LookupRequest& request, const ProblemKey& hash,
                                                             std::span<const GroupKey> groups,
                                                             OnMiss on_miss) noexcept {
  const auto op = static_cast<size_t>(request.key.op);
  const KeyCodes& own = codes[op];
  if (!own.fits(request.key)) return {};
  const LimitedDevice& device = plans.present();
  if (capture) capture->note(request.key, device.captured_threads);
  Hit hit;
  bool is_answered = false;
  {
    const ReadGuard reading;
    const Snapshot& current = *device.now.load(std::memory_order_seq_cst);
    // The hash only locates the answer. The full key is compared too, because the plan runs on the caller's memory.
    const CachedAnswer* served = current.served.find(hash);
    if (served != nullptr && !served->has_left && served->layouts == request.layouts &&
        own.same(served->key, request.key)) {
      is_answered = true;
      hit = served->hit;
      if (served->plan != nullptr) plans.note_use(*served->plan);
    } else {
      hit = first_row(*current.tables[op].rows, request.key, own.pads_m(), groups, options.max_regret);
    }
  }
  counters.count(hit.row == 0);
  if (!is_answered && !options.lookup_only) {
    hit.is_stand_in = true;
    if (on_miss == OnMiss::post) inbox.post({request.key, request.layouts, device.units}, hash);
  }
  return hit;
}

}  // namespace attune
