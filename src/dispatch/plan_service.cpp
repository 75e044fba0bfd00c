// SPDX-License-Identifier: MIT
#include "dispatch/plan_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/locations.h"
#include "compile/cache_limit.h"
#include "device/device_kind.h"
#include "device/devices.h"
#include "dispatch/plans/attune_program.h"
#include "dispatch/threads/read_guard.h"

namespace attune {
namespace {

constexpr uint64_t kMemoryPerWorkspaces = 8;  // A device's memory over what the workspaces of plans may take of it.
constexpr size_t kMaxShapesKept = 16384;      // Maximum size of ThreadLimitedDevice::refusals and of requested_kernels.

}  // namespace

PlanService::PlanService(const DispatcherOptions& options, const FamilyCodes& codes, Inbox& inbox, DispatchLog& log)
    : options_(options),
      codes_(codes),
      inbox_(inbox),
      log_(log),
      cache_{fixed_path(path_if_any(cache_location)), cache_limit(kApplicationCacheBytes).bytes},
      helper_(options.compile_mode == CompileMode::never ? HelperProgram() : compile_worker()),
      store_(options, codes),
      plans_(options.max_plan_bytes, new_hazard_owner()),
      missed_(options, log),
      captured_(options.graph_wait) {
  const auto opened = open_device(options.device);
  is_host_ = units_are_cores(opened->info());
  if (!is_host_) plans_.bound_device_bytes(static_cast<uint64_t>(opened->info().memory_bytes) / kMemoryPerWorkspaces);
  devices_ = std::vector<std::atomic<ThreadLimitedDevice*>>(static_cast<size_t>(opened->info().num_units) + 1);
  set_threads(options.threads);
  first_ = present_.load();
  prepare_read_guards();
}

PlanService::~PlanService() { forget_hazard_owner(plans_.holder()); }

DispatchCounts PlanService::counts() const noexcept {
  const PlanCache::Counts& plans = plans_.counts();
  return {.shapes = missed_.num_shapes(),
          .missed_shapes = missed_.num_missed(),
          .plans = plans.plans,
          .reloads = num_reloads_,
          .plan_bytes = plans.bytes,
          .evicted_plans = plans.evicted,
          .plan_limit_reached = plans.limit_reached + plans.device_limit_reached,
          .captured_plans = first().maker.graph_holds().num_held(),
          .captured_stand_ins = captured_.num_stand_ins()};
}

std::vector<std::string> PlanService::notices() {
  const Lock lock(guard_);
  return present().now.load()->notices();
}

std::vector<TableInUse> PlanService::tables() {
  const Lock lock(guard_);
  return present().now.load()->in_use();
}

std::shared_ptr<const Plan> PlanService::keep(const Hit& hit) const {
  if (hit.plan == nullptr) return nullptr;
  const CachedPlan* held = hazard_pointer(plans_.holder()).plan.load(std::memory_order_relaxed);
  if (held == nullptr || held->plan.get() != hit.plan)
    fail(ErrorCode::invalid_input,
         "a hit must be kept before its thread's next call of the dispatcher, this one is older");
  return held->plan;
}

WeightsPacker::PackingChoice PlanService::choose_packing(const Key& key, const PackOptions& wanted) {
  const Lock lock(guard_);
  ThreadLimitedDevice& device = present_device();
  const auto exemption = device.maker.exempt();
  return packer_.choose(device.maker, codes(key), rows_of(*device.now.load(), key), key, wanted);
}

void PlanService::pack(const WeightPacking& packing, PlainOperands plain, const Buffer& copy) {
  if (!packing.opaque) return packing.pack(plain, copy);
  const Lock lock(guard_);
  packing.pack(plain, copy);
}

/// Returns the answer to a problem; null if there is none yet.
const CachedAnswer* PlanService::find(const LookupRequest& request) const {
  const CachedAnswer* served = device_of(request).now.load()->served.find(hash_of(request));
  const bool is_its = served != nullptr && served->layouts == request.layouts && served->key == request.key;
  return is_its ? served : nullptr;
}

Resolution PlanService::make(ThreadLimitedDevice& device, const Snapshot& tables, const LookupRequest& request) {
  return device.resolver.resolve(codes(request.key), rows_of(tables, request.key), request, options_.max_regret);
}

/// Stores and returns the answer to a problem. A plan too large to be kept serves this call only. Requires: make_room()
/// is called afterwards.
Resolution PlanService::serve(const LookupRequest& request) {
  ThreadLimitedDevice& device = device_of(request);
  const auto exemption = device.maker.exempt();
  Snapshot& tables = *device.now.load();
  Resolution made;
  try {
    made = make(device, tables, request);
    made.refusal = {ErrorCode::unavailable, fmt::format("no kernel runs this problem: {}", made.why_not)};
  } catch (const Error& error) {
    made.refusal = {error.code(), error.what()};
  }
  if (made.hit.row == 0) report_other_limits(device);
  if (!made.missing.empty() && !std::exchange(was_kernel_missing_, true)) wants_missing_ = true;
  const ProblemKey hash = hash_of(request);
  tables.served.put(served_with(tables, made, request, tables.served.find(hash)));
  if (made.hit.plan == nullptr && made.hit.is_stand_in && (held_ || options_.compile_mode != CompileMode::never)) {
    // Not a refusal: the answer waits for a compiler.
  } else if (made.hit.plan == nullptr) {
    if (device.refusals.size() >= kMaxShapesKept) device.refusals.clear();
    device.refusals.insert_or_assign(hash, made.refusal);
    log_.say(fmt::format("a shape cannot be served: {}", made.refusal.why));
  }
  want_compiled(request, made);
  return made;
}

/// Queues a stand-in for compilation, after which it is resolved again; once per shape until the tables change.
void PlanService::want_compiled(const LookupRequest& request, const Resolution& made) {
  if (!made.hit.is_stand_in || made.missing.empty()) return;
  if (held_) return want_held(request, made);
  if (options_.compile_mode != CompileMode::background) return;
  auto& requested = device_of(request).requested_kernels;
  if (requested.size() < kMaxShapesKept && requested.insert(hash_of(request)).second) wanted_.push_back(request);
}

void PlanService::wake_if_waiting() {
  if (!wanted_.empty() || !missed_.is_empty() || wants_missing_ || (held_ && held_->has_work())) inbox_.wake();
}

/// Whether a call waits for the compiler. Without a plan, only a generated kernel takes these types or this layout of
/// weights: there is no stand-in.
bool PlanService::waits_for_compiler(const Resolution& made) const noexcept {
  if (is_held_) return made.hit.plan == nullptr && made.hit.is_stand_in;
  return options_.compile_mode == CompileMode::blocking ||
         (made.hit.plan == nullptr && options_.compile_mode != CompileMode::never);
}

/// Throws for kernels that nothing stands in for and that cannot be compiled here, although others may have them.
void PlanService::refuse_failed(const Resolution& made) {
  const std::optional<std::string> failure = held_ ? held_->failure_of(made.missing) : std::nullopt;
  if (failure) fail(ErrorCode::unavailable, "nothing stands in for a kernel that cannot be compiled: {}", *failure);
}

/// Answers a request after its kernels were compiled, or were not.
Resolution PlanService::serve_compiled(const LookupRequest& request, Resolution made,
                                       std::map<std::string, std::string> failures) {
  if (!held_) {
    device_of(request).maker.note_failures(std::move(failures));
    return serve(request);
  }
  note_compiled(made.missing, failures);
  if (held_->failure_of(made.missing)) return made;
  // Every rank runs the row's kernel here, because each waits for it.
  const AgreedKernels::Waiver waiver(held_->agreed());
  return serve(request);
}

Hit PlanService::require(LookupRequest request, OperandList& operands, uint64_t capture) {
  request.units = present().units;
  Lock lock(guard_);
  ThreadLimitedDevice& device = device_of(request);
  if (const CachedAnswer* served = find(request)) {
    if (capture == 0 ? is_final(served->hit) : is_settled(served->hit)) {
      protect_plan(plans_.holder(), served->plan);
      operands = served->operands;
      return served->hit;
    }
    // A refused problem stays refused until the tables change.
    const auto refused = device.refusals.find(hash_of(request));
    if (refused != device.refusals.end()) fail(refused->second.code, "{}", refused->second.why);
  }
  // The kernel may have been compiled and have left the cache: it is worth a second attempt.
  if (capture != 0 && captured_.may_wait(capture)) device.requested_kernels.erase(hash_of(request));
  Resolution made = serve(request);
  const bool waits = waits_for_compiler(made);
  // If a kernel cannot be compiled, another row may serve, whose kernel may need compiling too.
  constexpr int kMaxRounds = 8;
  for (int round = 0; waits && !made.missing.empty() && round < kMaxRounds; ++round) {
    refuse_failed(made);
    lock.unlock();
    auto failures = compile(made.missing);
    lock.lock();
    made = serve_compiled(request, std::move(made), std::move(failures));
  }
  wake_if_waiting();
  const auto end = CapturedCalls::Clock::now() + captured_.max_wait();
  while (may_come(made, capture)) {
    lock.unlock();
    captured_.wait(end, [&] { return !is_waited_for(request); });
    lock.lock();
    made = serve(request);
    if (made.hit.is_stand_in && CapturedCalls::Clock::now() >= end) captured_.give_up(capture);
  }
  if (capture != 0) note_stand_in(request, made);
  if (made.hit.plan != nullptr) protect_plan(plans_.holder(), made.plan);
  make_room();
  if (made.hit.plan == nullptr) fail(made.refusal.code, "{}", made.refusal.why);
  operands = made.operands;
  return made.hit;
}

/// Who names a candidate gets it, whether others agree on its kernel or not.
Resolution PlanService::resolve_named(ThreadLimitedDevice& device, const Problem& problem, const Candidate& candidate) {
  if (!held_) return device.resolver.resolve(problem, candidate);
  const AgreedKernels::Waiver waiver(held_->agreed());
  return device.resolver.resolve(problem, candidate);
}

const Plan& PlanService::require(const Problem& problem, const Candidate& candidate) {
  Lock lock(guard_);
  ThreadLimitedDevice& device = present_device();
  const auto exemption = device.maker.exempt();
  Resolution made = resolve_named(device, problem, candidate);
  if (!made.missing.empty()) {
    lock.unlock();
    auto failures = compile(made.missing);
    lock.lock();
    // Of all processes, as long as changes are held: what failed here alone is no failure of rows.
    if (held_ && !failures.empty())
      fail(ErrorCode::unavailable, "its kernel cannot be compiled: {}", failures.begin()->second);
    device.maker.note_failures(std::move(failures));
    made = resolve_named(device, problem, candidate);
  }
  if (made.hit.plan == nullptr) fail(made.refusal.code, "the candidate cannot run this problem: {}", made.why_not);
  protect_plan(plans_.holder(), made.plan);
  make_room();
  return *made.hit.plan;
}

std::map<std::string, std::string> PlanService::compile(const std::vector<CompileTask>& tasks) const {
  return compile_kernels(tasks, cache_, helper_, [this] { return stop_.load(); });
}

void PlanService::answer(const LookupRequest& request) {
  const Lock lock(guard_);
  const CachedAnswer* served = device_of(request).now.load()->served.find(hash_of(request));
  if (served != nullptr && !served->has_left) return;
  serve(request);
  make_room();
}

/// Begins what may run now. The compilers start without the lock.
void PlanService::begin_compilations(KernelCompilations& compilations) {
  while (!stop_ && (compilations.num_shapes() == 0 || captured_.any_waits())) {
    Lock lock(guard_);
    if (wanted_.empty()) return;
    const LookupRequest request = wanted_.back();
    wanted_.pop_back();
    ThreadLimitedDevice& device = device_of(request);
    const auto exemption = device.maker.exempt();
    const Resolution made = make(device, *device.now.load(), request);
    if (!made.hit.is_stand_in || made.missing.empty()) continue;
    lock.unlock();
    compilations.begin(request, made.missing);
  }
}

void PlanService::answer_compiled(KernelCompilations::Ended one) {
  ThreadLimitedDevice& device = device_of(one.shape);
  if (!one.failures.empty()) {
    // Another row may serve now, and its kernel may need compiling too.
    device.requested_kernels.erase(hash_of(one.shape));
    device.maker.note_failures(std::move(one.failures));
  }
  serve(one.shape);
}

bool PlanService::compile_some(KernelCompilations& compilations) {
  if (!is_held_) begin_compilations(compilations);
  std::vector<KernelCompilations::Ended> ended = compilations.wait(Milliseconds(20));
  if (!ended.empty()) {
    const Lock lock(guard_);
    for (KernelCompilations::Ended& one : ended) answer_compiled(std::move(one));
    make_room();
  }
  if (is_held_ && compilations.num_shapes() == 0) return compile_held();
  const Lock lock(guard_);
  return compilations.num_shapes() > 0 || !wanted_.empty();
}

void PlanService::note_missed(const LookupRequest& request) {
  const Lock lock(guard_);
  missed_.add(request);
}

PlanService::Missed PlanService::take_missed() {
  const Lock lock(guard_);
  if (missed_.units() == 0) return {};
  const ThreadLimitedDevice& tuned = *devices_.at(static_cast<size_t>(missed_.units()));
  return {missed_.take(codes_, tuned, store_), &tuned.info};
}

/// Answers all problems again from `fresh`, the rows of a device from now on.
void PlanService::replace_tables(ThreadLimitedDevice& device, std::unique_ptr<Snapshot> fresh) {
  Snapshot* const before = device.now.load();
  device.maker.forget_failures();
  device.refusals.clear();
  device.requested_kernels.clear();
  serve_again(device, *fresh);
  if (&device == present_.load()) {
    for (const std::string& notice : fresh->notices()) log_.say(notice);
  }
  device.now.store(fresh.release(), std::memory_order_seq_cst);
  if (wait_for_readers()) delete before;
}

bool PlanService::reload(bool reads_environment) {
  const Lock lock(guard_);
  const auto exemption = first().maker.exempt();
  make_room();
  if (reads_environment) {
    store_.read_environment();
    for (const auto& device : owned_devices_) device->maker.forget_failures();
  }
  bool any_changed = false;
  for (const auto& device : owned_devices_) {
    auto fresh = store_.read(device->info, device->waiting ? device->waiting.get() : device->now.load());
    if (!fresh) continue;
    any_changed = true;
    if (!held_) {
      replace_tables(*device, std::move(fresh));
      continue;
    }
    if (held_->is_reported() && !device->reported) device->reported = std::move(device->waiting);
    device->waiting = std::move(fresh);
    held_->note_tables();
  }
  if (!any_changed || held_) return any_changed;
  ++num_reloads_;
  wake_if_waiting();
  return true;
}

}  // namespace attune
