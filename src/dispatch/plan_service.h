// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attune/candidates.h"
#include "attune/common_changes.h"
#include "attune/dispatcher.h"
#include "base/mutex.h"
#include "dispatch/captured_calls.h"
#include "dispatch/inbox.h"
#include "dispatch/missed_shapes.h"
#include "dispatch/missing_kernels.h"
#include "dispatch/pending_changes.h"
#include "dispatch/plans/kernel_compilation.h"
#include "dispatch/plans/plan_cache.h"
#include "dispatch/plans/weights_packer.h"
#include "dispatch/table/key_codes.h"
#include "dispatch/table_snapshot_store.h"
#include "dispatch/thread_limited_device.h"
#include "dispatch/threads/dispatch_log.h"
#include "dispatch/threads/fork_guard.h"
#include "dispatch/threads/hazard_pointers.h"

namespace attune {

/// Makes, keeps and evicts the plans of a dispatcher, and the answers that lookups find, for each thread limit.
/// Thread-safe. Its functions throw like LibraryUse::enter(); those that say so take no lock.
class PlanService {
 public:
  /// Opens the device under the limit of the options and reads its tables. The arguments must outlive this. `inbox` is
  /// woken when kernels wait for compile_one() or shapes for take_missed().
  PlanService(const DispatcherOptions& options, const FamilyCodes& codes, Inbox& inbox, DispatchLog& log);
  ~PlanService();

  /// The device under the present thread limit. No lock.
  const ThreadLimitedDevice& present() const noexcept { return *present_.load(std::memory_order_acquire); }
  /// The device under the first limit, which owns all packed weights, whatever the limit of their calls. No lock.
  const ThreadLimitedDevice& first() const noexcept { return *first_; }
  /// Memory of the device. No lock.
  Device& owner() const noexcept { return first_->maker.owner(); }
  /// Like Dispatcher::set_threads(). No lock for a limit that was set before. Defined in thread_limit.cpp.
  int64_t set_threads(int64_t threads) ATTUNE_EXCLUDES(guard_);

  /// Protects an answer's plan for the calling thread and records the use. No lock; the caller has a ReadGuard.
  void note_use(CachedPlan& plan) const noexcept {
    plan.note_use(plans_.time());
    protect_plan(plans_.holder(), &plan);
  }
  /// Like Dispatcher::keep(). No lock.
  std::shared_ptr<const Plan> keep(const Hit& hit) const;
  /// Whether the hit is the best that there will be for its row, also for a graph. No lock.
  static bool is_settled(const Hit& hit) noexcept {
    return hit.plan != nullptr && !hit.is_stand_in && !hit.kernel_failed;
  }
  /// Whether require() can return the hit. With CompileMode::blocking a stand-in is not enough. No lock.
  bool is_final(const Hit& hit) const noexcept {
    return hit.plan != nullptr && !(hit.is_stand_in && options_.compile_mode == CompileMode::blocking && !is_held_);
  }
  /// Number of the capture that a caller's stream is part of; 0: none. No lock.
  uint64_t capture_of(void* stream) const noexcept {
    CallerStreams* const streams = owner().caller_streams();
    return streams != nullptr ? streams->capture_of(stream) : 0;
  }
  /// Counts calls that make their plans on captured streams.
  CapturedCalls& captured_calls() noexcept { return captured_; }
  /// Answers a problem under the present thread limit, and sets what its plan reads and writes. `capture`: number of
  /// the capture that the call belongs to, or 0; it waits for the kernel of its row. Throws like Dispatcher::require().
  Hit require(LookupRequest request, OperandList& operands, uint64_t capture = 0) ATTUNE_EXCLUDES(guard_);
  /// Returns the plan of a candidate of a normalised problem, valid like Hit::plan, and compiles it first if needed.
  /// Throws like Dispatcher::run_candidate().
  const Plan& require(const Problem& problem, const Candidate& candidate) ATTUNE_EXCLUDES(guard_);

  // Defined in candidate_listing.cpp.

  /// The candidate of a normalised problem that a text names or numbers, under the present thread limit. Throws
  /// invalid_input, for a number also like NumberedCandidates::find().
  Candidate candidate(const Problem& problem, std::string_view text) ATTUNE_EXCLUDES(guard_);
  /// Like Dispatcher::candidates() for a normalised problem.
  std::vector<SolverCandidates> candidates(const Problem& problem, const CandidateRange& range) ATTUNE_EXCLUDES(guard_);

  /// How to pack weights; like WeightsPacker::choose() with the rows under the present limit.
  WeightsPacker::PackingChoice choose_packing(const Key& key, const PackOptions& wanted) ATTUNE_EXCLUDES(guard_);
  /// Packs one copy. Takes seconds for large weights; other threads may make plans and fork meanwhile, unless a library
  /// packs.
  void pack(const WeightPacking& packing, PlainOperands plain, const Buffer& copy) ATTUNE_EXCLUDES(guard_);

  /// Answers a problem that a lookup posted, unless it has an answer by now.
  void answer(const LookupRequest& request) ATTUNE_EXCLUDES(guard_);
  /// How the dispatcher's thread compiles; that thread owns the object.
  std::unique_ptr<KernelCompilations> new_compilations() const {
    return std::make_unique<KernelCompilations>(cache_, helper_);
  }
  /// Has the kernels of waiting shapes compiled, one shape at a time, or all side by side as long as a captured call
  /// waits; answers those shapes again whose kernels are there. Takes at most about 20 ms, unless changes are held.
  /// Returns false if nothing is left to do.
  bool compile_some(KernelCompilations& compilations) ATTUNE_EXCLUDES(guard_);
  /// After a row's kernel was missing: looks at some rows of the tables, and at the end reports the tables that lack
  /// many kernels. Returns false if nothing is left to look at. Defined in kernel_waits.cpp.
  bool count_missing(MissingKernels& missing, const KernelCompilations& compilations) ATTUNE_EXCLUDES(guard_);
  /// Ends a compilation in progress; later ones fail. No lock.
  void stop() noexcept { stop_ = true; }
  /// There is no dispatcher's thread, so captured calls wait for nothing. No lock.
  void note_no_thread() noexcept { has_thread_ = false; }
  /// Normalised problems that were missed, and the device under the thread limit of the first of all; null as long as
  /// none was.
  struct Missed {
    std::vector<Problem> problems;
    const DeviceInfo* device = nullptr;
  };
  /// Adds one that no row serves, of a call that somebody else computes.
  void note_missed(const LookupRequest& request) ATTUNE_EXCLUDES(guard_);
  /// Returns those since the last call, except those for which results of online tuning would not be used.
  Missed take_missed() ATTUNE_EXCLUDES(guard_);

  /// Reads changed tables and answers all problems again, those used last first. Returns whether any table had changed.
  /// `reads_environment`: as for Dispatcher::reload().
  bool reload(bool reads_environment) ATTUNE_EXCLUDES(guard_);
  /// Like Dispatcher::release_memory(), without the calling thread's workspace. Defined in plan_withdrawal.cpp.
  uint64_t release_memory() ATTUNE_EXCLUDES(guard_);
  std::string explain(const Key& key) ATTUNE_EXCLUDES(guard_);  ///< Defined in explanation.cpp.

  // What CommonChanges does; defined in plan_agreement.cpp.

  /// From now on tables and kernels change what serves by apply() alone; no rows serve until then. Throws invalid_input
  /// if they are held already.
  void hold_changes() ATTUNE_EXCLUDES(guard_);
  /// Ends that: what waited serves. Does nothing if they are not held.
  void release_changes() ATTUNE_EXCLUDES(guard_);
  CommonReport report() ATTUNE_EXCLUDES(guard_);
  CommonResult apply(std::span<const ServingReport> reports) ATTUNE_EXCLUDES(guard_);

  std::vector<std::string> notices() ATTUNE_EXCLUDES(guard_);
  std::vector<TableInUse> tables() ATTUNE_EXCLUDES(guard_);
  /// All counts but those of lookups. No lock.
  DispatchCounts counts() const noexcept ATTUNE_NO_THREAD_SAFETY_ANALYSIS;
  /// Whether the device is the host. No lock.
  bool is_host() const noexcept { return is_host_; }
  /// Whether this process is a child of the one that made the dispatcher. No lock.
  bool is_in_child() const noexcept { return guard_.is_in_child(); }

 private:
  const KeyCodes& codes(const Key& key) const { return codes_.of(key.op()); }
  const RowIndex& rows_of(const Snapshot& tables, const Key& key) const {
    return tables.rows(codes_.place(codes(key)));
  }
  ProblemKey hash_of(const LookupRequest& request) const noexcept { return request.hash(codes(request.key)); }
  /// The device under the limit of a request, which a lookup has read or set_threads() has made.
  ThreadLimitedDevice& device_of(const LookupRequest& request) const {
    return *devices_.at(static_cast<size_t>(request.units));
  }
  ThreadLimitedDevice& present_device() const noexcept { return *present_.load(); }
  ThreadLimitedDevice& make_device(int64_t units) ATTUNE_REQUIRES(guard_);
  void report_other_limits(ThreadLimitedDevice& device) ATTUNE_REQUIRES(guard_);
  const CachedAnswer* find(const LookupRequest& request) const ATTUNE_REQUIRES(guard_);
  Resolution make(ThreadLimitedDevice& device, const Snapshot& tables, const LookupRequest& request)
      ATTUNE_REQUIRES(guard_);
  Resolution serve(const LookupRequest& request) ATTUNE_REQUIRES(guard_);
  Resolution resolve_named(ThreadLimitedDevice& device, const Problem& problem, const Candidate& candidate)
      ATTUNE_REQUIRES(guard_);
  bool waits_for_compiler(const Resolution& made) const noexcept;
  void refuse_failed(const Resolution& made) ATTUNE_REQUIRES(guard_);
  Resolution serve_compiled(const LookupRequest& request, Resolution made, std::map<std::string, std::string> failures)
      ATTUNE_REQUIRES(guard_);
  CachedAnswer served_with(const Snapshot& tables, const Resolution& made, const LookupRequest& request,
                           const CachedAnswer* before) ATTUNE_REQUIRES(guard_);
  void want_compiled(const LookupRequest& request, const Resolution& made) ATTUNE_REQUIRES(guard_);
  void wake_if_waiting() ATTUNE_REQUIRES(guard_);
  std::map<std::string, std::string> compile(const std::vector<CompileTask>& tasks) const;
  void begin_compilations(KernelCompilations& compilations) ATTUNE_EXCLUDES(guard_);
  void answer_compiled(KernelCompilations::Ended one) ATTUNE_REQUIRES(guard_);
  // Defined in kernel_waits.cpp.
  bool may_come(const Resolution& made, uint64_t capture) const ATTUNE_REQUIRES(guard_);
  bool is_waited_for(const LookupRequest& request) const noexcept;
  void note_stand_in(const LookupRequest& request, const Resolution& made) ATTUNE_REQUIRES(guard_);
  std::string why_not_compiled(const Resolution& made) const ATTUNE_REQUIRES(guard_);
  std::string build_command(const std::filesystem::path& table) const;
  /// Evicts plans while they exceed the bound, also from the coming tables `coming`; frees what no reader can see any
  /// more. The end of a plan waits for the device, so while a stream may be captured, what has left stays for a later
  /// call. Requires: new plans are already protected for their callers.
  void make_room(Snapshot* coming = nullptr) ATTUNE_REQUIRES(guard_);
  bool may_wait() const noexcept;
  void withdraw(const CachedPlan& gone) ATTUNE_REQUIRES(guard_);
  uint64_t held_bytes() const ATTUNE_REQUIRES(guard_);
  void serve_again(ThreadLimitedDevice& device, Snapshot& fresh) ATTUNE_REQUIRES(guard_);
  void replace_tables(ThreadLimitedDevice& device, std::unique_ptr<Snapshot> fresh) ATTUNE_REQUIRES(guard_);
  bool compile_held() ATTUNE_EXCLUDES(guard_);
  void note_compiled(const std::vector<CompileTask>& tasks, const std::map<std::string, std::string>& failures)
      ATTUNE_REQUIRES(guard_);
  void note_answer(const Snapshot& tables, const Resolution& made, const LookupRequest& request)
      ATTUNE_REQUIRES(guard_);
  void want_held(const LookupRequest& request, const Resolution& made) ATTUNE_REQUIRES(guard_);
  void want_for_others(const WantedKernel& wanted) ATTUNE_REQUIRES(guard_);
  bool switch_tables(ThreadLimitedDevice& device, const std::string& digest) ATTUNE_REQUIRES(guard_);
  void serve_stand_ins() ATTUNE_REQUIRES(guard_);
  std::string settings() const;
  std::string waiting_digest() const ATTUNE_REQUIRES(guard_);

  const DispatcherOptions& options_;
  const FamilyCodes& codes_;
  Inbox& inbox_;
  DispatchLog& log_;
  const CachePlace cache_;      ///< As the environment said at construction.
  const HelperProgram helper_;  ///< Likewise.
  std::atomic<bool> stop_{false};
  ForkGuard guard_{log_};
  TableSnapshotStore store_ ATTUNE_GUARDED_BY(guard_);
  // Before plans_, because plans must be destroyed before the libraries that made them.
  std::vector<std::unique_ptr<ThreadLimitedDevice>> owned_devices_ ATTUNE_GUARDED_BY(guard_);
  bool is_host_ = false;
  std::vector<std::atomic<ThreadLimitedDevice*>> devices_;  ///< By units; null: no call had this limit yet.
  std::atomic<ThreadLimitedDevice*> present_{nullptr};
  ThreadLimitedDevice* first_ =
      nullptr;       ///< Set by the constructor: readers may not touch owned_devices_, which grows.
  PlanCache plans_;  ///< Changed under guard_; readers use time() and holder().
  WeightsPacker packer_ ATTUNE_GUARDED_BY(guard_);
  MissedShapes missed_ ATTUNE_GUARDED_BY(guard_);
  std::vector<LookupRequest> wanted_ ATTUNE_GUARDED_BY(guard_);  ///< Shapes whose kernel waits to be compiled.
  bool was_kernel_missing_ ATTUNE_GUARDED_BY(guard_) = false;
  bool is_limit_said_ ATTUNE_GUARDED_BY(guard_) = false, is_device_limit_said_ ATTUNE_GUARDED_BY(guard_) = false;
  void say_limits() ATTUNE_REQUIRES(guard_);
  std::unique_ptr<PendingChanges> held_ ATTUNE_GUARDED_BY(guard_);  ///< Null: changes are not held.
  std::atomic<bool> is_held_{false};                                ///< Whether held_ is set, for readers.
  std::atomic<uint64_t> num_reloads_{0};
  CapturedCalls captured_;
  std::atomic<bool> has_thread_{true};
  std::atomic<bool> wants_missing_{false};  ///< count_missing() has something to do.
};

}  // namespace attune
