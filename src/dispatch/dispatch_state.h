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
Hit first_row(const RowIndex& rows, const KeyCodes& codes, const Key& key, std::span<const GroupKey> groups,
              double max_regret) noexcept;

/// The dispatcher's implementation: the lookups, which take no lock, over the parts that make answers.
struct Dispatcher::State {
  explicit State(DispatcherOptions wanted);
  ~State();

  /// Whether a lookup posts an unanswered problem to the dispatcher's thread. Lookups of require() do not.
  enum class OnMiss : uint8_t { post, ignore };
  /// Returns the cached answer to a problem, else the first row that matches in the tables. `key`: short; `layouts`:
  /// of its weights if they are packed ahead, else null; `hash`: of both. `groups`: group keys of the problem in each
  /// layout of its weights, at most LayoutSet::kMax. `operands` (may be null): set with a hit that has a plan. Takes no
  /// lock and does no I/O; allocates only in a thread's first call.
  Hit look_up(const KeyCodes& own, const Key& key, const LayoutSet* layouts, const ProblemKey& hash,
              std::span<const GroupKey> groups, OnMiss on_miss, OperandList* operands) noexcept;
  /// Like Dispatcher's functions. `weights`: null for plain ones.
  Hit choose(const Key& key, const Weights* weights, OnMiss on_miss, OperandList* operands) noexcept;
  Hit require(const Key& key, const Weights* weights, OperandList& operands, void* stream);
  /// Goes on after a lookup whose hit is not settled. Not inlined, so that a hit needs no room for it on the stack.
  [[gnu::noinline]] Hit require_unsettled(Hit hit, const Key& key, const Weights* weights, OperandList& operands,
                                          void* stream);
  Hit require_row(const Key& key, void* stream);
  Hit run(const Key& key, const Weights* weights, std::span<void* const> operands, void* stream);
  /// Captures a call of require() or run(), once it has succeeded.
  void capture_call(const Key& key, const Weights* weights) const;
  /// Like above for short keys and packed weights. Defined in weights.cpp.
  Hit choose_packed(const KeyCodes& own, const Key& key, const Weights& weights, OnMiss on_miss,
                    OperandList* operands) noexcept;
  Weights pack(const Key& key, std::span<const void* const> plain, const PackOptions& wanted);
  /// A packed operand in the copy that hit.plan reads.
  static void* copy_of(const Weights& weights, const Hit& hit, size_t part) noexcept;
  bool holds(const Weights& weights, const KeyCodes& own, const Key& key) const noexcept;
  /// Returns the codes of a key's op, and its short form. Throws invalid_input for a number of no op, and
  /// for too many or too few values.
  const KeyCodes& codes_of(const Key& key) const;
  Key short_key(const Key& key) const;
  /// Returns the normalised problem of a key. Throws invalid_input.
  Problem problem(const Key& key) const;
  /// Parses and normalises a problem. Throws invalid_input.
  Problem read_problem(std::string_view text) const;
  std::vector<std::string> notices();
  DispatchCounts counts() const;
  /// Ends the thread, writes captured shapes and logs the misses. Further calls do nothing.
  void finish();

  const DispatcherOptions options;
  const FamilyCodes codes;
  DispatchLog log;
  Inbox inbox;
  Inbox misses;  ///< Problems without a row that require_row() leaves to others, for online tuning.
  PlanService plans;
  CallCounters counters;
  std::atomic<bool> has_left{false};       ///< require_row() has left a shape without a row to its caller.
  const std::unique_ptr<Capture> capture;  ///< Null: shapes are not captured.
  std::atomic<bool> is_finished{false};
  BackgroundWork work;  ///< Last: its thread uses the others.
};

// Inlined: a call would cost an exact lookup a fifth of its time.
[[gnu::always_inline]] inline Hit Dispatcher::State::look_up(const KeyCodes& own, const Key& key,
                                                             const LayoutSet* layouts, const ProblemKey& hash,
                                                             std::span<const GroupKey> groups, OnMiss on_miss,
                                                             OperandList* operands) noexcept {
  const ThreadLimitedDevice& device = plans.present();
  if (capture && on_miss == OnMiss::post) capture->note(key, device.captured_threads);
  Hit hit;
  bool is_answered = false;
  {
    const ReadGuard reading;
    const Snapshot& current = *device.now.load(std::memory_order_seq_cst);
    // The hash only locates the answer. The full key is compared too, because the plan runs on the caller's memory.
    const CachedAnswer* served = current.served.find(hash);
    if (served != nullptr && !served->has_left && served->layouts == layouts && served->key == key) {
      is_answered = true;
      hit = served->hit;
      if (served->plan != nullptr) plans.note_use(*served->plan);
      if (operands != nullptr) *operands = served->operands;
    } else {
      hit = first_row(current.rows(codes.place(own)), own, key, groups, options.max_regret);
    }
  }
  counters.count(hit.row == 0);
  if (!is_answered && !options.lookup_only) {
    hit.is_stand_in = true;
    if (on_miss == OnMiss::post) inbox.post({key, layouts, device.units}, hash);
  }
  return hit;
}

}  // namespace attune
