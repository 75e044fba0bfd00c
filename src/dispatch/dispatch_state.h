// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "attune/capture.h"
#include "attune/dispatcher.h"
#include "attune/error.h"
#include "dispatch/inbox.h"
#include "dispatch/limited_device.h"
#include "dispatch/online/online_tuning.h"
#include "dispatch/plans/plan_cache.h"
#include "dispatch/plans/weights_packer.h"
#include "dispatch/table/key_codes.h"
#include "dispatch/table/matched_rows.h"
#include "dispatch/table/table_sources.h"
#include "dispatch/table/weights_layouts.h"
#include "dispatch/threads/background_thread.h"
#include "dispatch/threads/call_counters.h"
#include "dispatch/threads/dispatch_log.h"
#include "dispatch/threads/fork_guard.h"
#include "dispatch/threads/hazard_pointers.h"
#include "dispatch/threads/read_guard.h"

namespace attune {

/// Returns the first row that matches a lookup, without checking its kernel. `halves`: half keys of the problem in each
/// layout of its weights, at most LayoutSet::kMax.
Hit first_row(const RowIndex& rows, const GemmKey& key, bool pads_m, std::span<const HalfKey> halves,
              double max_regret) noexcept;

/// The dispatcher's implementation. Readers use `limited`, `inbox`, `capture` and `counters`; code that makes plans
/// holds `making_`.
struct Dispatcher::State {
  explicit State(DispatcherOptions wanted);
  ~State();

  /// Whether a lookup posts an unanswered problem to the dispatcher's thread. Lookups of require() do not.
  enum class OnMiss : uint8_t { post, ignore };
  /// Returns the cached answer to a problem, else the first row that matches in the tables. `hash`: request.hash().
  /// `halves`: half keys of the problem in each layout of its weights, at most LayoutSet::kMax. Takes no lock and does
  /// no I/O; allocates only in a thread's first call.
  Hit look_up(const LookupRequest& request, const ProblemKey& hash, std::span<const HalfKey> halves,
              OnMiss on_miss) noexcept;
  Hit choose(const GemmKey& key, OnMiss on_miss) noexcept;
  Hit require(LookupRequest request);
  /// Whether require() can return the hit. With CompileMode::blocking a stand-in is not enough.
  bool is_final(const Hit& hit) const noexcept {
    return hit.plan != nullptr && !(hit.is_stand_in && options.compile_mode == CompileMode::blocking);
  }
  /// Like Dispatcher's functions for weights packed ahead. Defined in weights.cpp.
  Hit choose(GemmKey key, const Weights& weights, OnMiss on_miss = OnMiss::post) noexcept;
  Hit require(GemmKey key, const Weights& weights);
  Weights pack(GemmKey key, const void* plain, const PackOptions& wanted);
  static void* copy_of(const Weights& weights, const Hit& hit) noexcept;  ///< The copy that hit.plan reads.
  std::shared_ptr<const Plan> keep(const Hit& hit) const;
  /// Returns the plan of a candidate and compiles it first if needed. The plan lives as long as Hit::plan. Throws like
  /// Dispatcher::run_candidate().
  const Plan& require(const Problem& problem, const Candidate& candidate);
  /// Parses and normalises a problem. Throws invalid_input. This and require() above are defined in candidate_plan.cpp.
  Problem read_problem(std::string_view text) const;
  std::string explain(const GemmKey& key);
  bool reload();
  /// Like Dispatcher's functions. Defined in thread_limit.cpp.
  int64_t set_threads(int64_t threads);
  int64_t threads() const noexcept { return limited.load(std::memory_order_acquire)->units(); }
  std::vector<std::string> notices();
  std::vector<TableInUse> tables();
  DispatchCounts counts() const;
  /// Ends the thread, writes captured shapes and logs the misses. Further calls do nothing.
  void finish();

  const DispatcherOptions options;
  std::vector<KeyCodes> codes;  ///< Indexed by OpId.
  std::unique_ptr<Capture> capture;
  std::atomic<LimitedDevice*> limited{nullptr};  ///< The device under the present thread limit.
  Inbox inbox;
  CallCounters counters;

 private:
  void open_device_without_limit();           ///< Sets the size of devices_. Called by the constructor.
  LimitedDevice& make_device(int64_t units);  ///< Requires: making_ is held.
  LimitedDevice& device_of(const LookupRequest& request) const {
    return *devices_.at(static_cast<size_t>(request.units));
  }
  /// Returns the device under the first limit. It owns all packed weights, whatever the limit of their calls.
  LimitedDevice& first_device() const noexcept { return *first_; }
  Device& owner() const noexcept { return first_device().maker.owner(); }
  std::unique_ptr<Snapshot> read_tables(const DeviceInfo& device, const Snapshot* before, bool& changed) const;
  bool holds(const Weights& weights, GemmKey key) const noexcept;
  Resolution make(LimitedDevice& device, const Snapshot& tables, const LookupRequest& request);
  Resolution serve(const LookupRequest& request);
  CachedAnswer served_with(const Snapshot& tables, const Resolution& made, const LookupRequest& request,
                           const CachedAnswer* before);
  /// Evicts plans while they exceed the bound, also from the coming tables `coming`; frees what no reader can see any
  /// more.
  void make_room(Snapshot* coming = nullptr);
  void serve_again(LimitedDevice& device, Snapshot& fresh);
  void log_notices(const Snapshot& tables);
  std::unique_lock<ForkGuard> begin_making() { return std::unique_lock(guard_); }
  std::map<std::string, std::string> compile(const std::vector<CompileTask>& tasks) const;
  bool note(const Snapshot& tables, const LookupRequest& request, const CachedAnswer* before,
            const CachedAnswer& served);
  void want_compiled(const LookupRequest& request, const Resolution& made);
  bool compile_one();
  void begin_online_tuning();
  void tune_missed();
  bool reload_if_changed();  ///< Re-reads the tables if files at `places_` have changed.
  void work() noexcept;
  void work_on(const Inbox::Item& item);
  ProblemKey hash_of(const LookupRequest& request) const noexcept;

  const std::filesystem::path cache_;
  DispatchLog log_;
  // Before plans_, because plans must be destroyed before the libraries that made them.
  std::vector<std::unique_ptr<LimitedDevice>> owned_devices_;
  std::vector<std::atomic<LimitedDevice*>> devices_;  ///< By units; null: no call had this limit yet.
  LimitedDevice* first_ = nullptr;  ///< Set by the constructor: readers may not touch owned_devices_, which grows.
  bool is_host_ = false;
  PlanCache plans_;
  WeightsPacker packer_;
  std::mutex making_;                  ///< Guards owned_devices_, plans_, and all from wanted_ to places_.
  std::vector<LookupRequest> wanted_;  ///< Shapes whose kernel waits to be compiled.
  std::vector<LookupRequest> missed_;  ///< Shapes not yet handed to online_.
  bool is_limit_said_ = false;
  std::vector<TablePlaces> places_;  ///< Indexed by OpId; from the environment at construction or the last reload().
  std::atomic<uint64_t> num_reloads_{0}, num_missed_shapes_{0}, num_shapes_{0};
  std::atomic<bool> stop_{false};  ///< Tells the thread to end.
  std::atomic<bool> finished_{false};
  std::unique_ptr<OnlineTuning> online_;  ///< Used by the dispatcher's thread only. Null: online tuning is off.
  ForkGuard guard_{making_, log_};        ///< Locked by code that makes plans.
  std::unique_ptr<BackgroundThread> thread_;
};

// Inlined: a call would cost an exact lookup a fifth of its time.
[[gnu::always_inline]] inline Hit Dispatcher::State::look_up(const LookupRequest& request, const ProblemKey& hash,
                                                             std::span<const HalfKey> halves, OnMiss on_miss) noexcept {
  const auto op = static_cast<size_t>(request.key.op);
  const KeyCodes& own = codes[op];
  if (!own.fits(request.key)) return {};
  const LimitedDevice& device = *limited.load(std::memory_order_acquire);
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
      if (served->plan != nullptr) {
        served->plan->note_use(plans_.time());
        protect_plan(plans_.holder(), served->plan);
      }
    } else {
      hit = first_row(*current.tables[op].rows, request.key, own.pads_m(), halves, options.max_regret);
    }
  }
  counters.count(hit.row == 0);
  if (!is_answered && !options.lookup_only) {
    hit.is_stand_in = true;
    if (on_miss == OnMiss::post) inbox.post({request.key, request.layouts, device.units()}, hash);
  }
  return hit;
}

}  // namespace attune
