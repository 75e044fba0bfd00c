// SPDX-License-Identifier: MIT
// Changes that processes of a group make together: what waits, what is reported, and how it is applied (ADR 24).
#include <fmt/format.h>

#include <utility>

#include "attune/version.h"
#include "base/error.h"
#include "base/hash.h"
#include "dispatch/agreement/agreement.h"
#include "dispatch/plan_service.h"
#include "dispatch/table/key_problem.h"
#include "ops/op.h"
#include "solver/weight_packing.h"

namespace attune {

void PlanService::hold_changes() {
  const Lock lock(guard_);
  if (held_)
    fail(ErrorCode::invalid_input, "the changes of this dispatcher are held already, by another CommonChanges");
  const auto exemption = first().maker.exempt();
  held_ = std::make_unique<PendingChanges>(cache_);
  is_held_ = true;
  store_.make_digests(true);
  wanted_.clear();
  for (const auto& device : owned_devices_) {
    device->maker.set_agreed(&held_->agreed());
    device->waiting = store_.read(device->info, nullptr);
    replace_tables(*device, store_.without_rows(device->info, *device->waiting));
  }
}

void PlanService::release_changes() {
  const Lock lock(guard_);
  if (!held_) return;
  const auto exemption = first().maker.exempt();
  is_held_ = false;
  held_.reset();
  store_.make_digests(false);
  for (const auto& device : owned_devices_) {
    device->maker.set_agreed(nullptr);
    device->reported.reset();
    if (device->waiting) replace_tables(*device, std::move(device->waiting));
  }
  serve_stand_ins();
  wake_if_waiting();
}

/// What answers depend on besides tables, libraries and kernels. Another number of threads is another device, which
/// answers tell.
std::string PlanService::settings() const {
  const DeviceInfo& device = first().info;
  return fmt::format("Attune {} on {} {}, kernels that are {}, predictions up to {}, plans {}", kVersion, device.kind,
                     device.gfx, options_.require == Requirement::none ? "any" : text(options_.require),
                     options_.max_regret, options_.compile_mode == CompileMode::never ? "not compiled" : "compiled");
}

std::string PlanService::waiting_digest() const {
  const ThreadLimitedDevice& device = present();
  return device.waiting ? device.waiting->digest() : device.now.load()->digest();
}

CommonReport PlanService::report() {
  const Lock lock(guard_);
  if (!held_) fail(ErrorCode::invalid_input, "changes are not held");
  for (const auto& device : owned_devices_) device->reported.reset();
  const ServingReport report = held_->report(settings(), waiting_digest());
  std::string state = report.settings + '\n' + report.serving;
  for (const CommonKernel& one : held_->agreed().serving()) state += '\n' + one.recipe + ' ' + one.toolchain;
  for (const std::string& one : held_->agreed().failed()) state += "\nfailed " + one;
  return {.state = hash128(state).low, .has_news = held_->has_news(), .text = report.text()};
}

CommonResult PlanService::apply(std::span<const ServingReport> reports) {
  const Lock lock(guard_);
  if (!held_) fail(ErrorCode::invalid_input, "changes are not held");
  const auto exemption = first().maker.exempt();
  Agreement agreed = agree(reports);
  CommonResult result{.differences = std::move(agreed.differences)};
  for (std::string& one : held_->note_exchange(reports)) result.differences.push_back(std::move(one));
  const bool other_kernels = held_->agreed().set(std::move(agreed.kernels), std::move(agreed.failed));
  const std::string tables = agreed.tables.value_or("");
  const bool other_tables = tables != held_->tables();
  if (other_tables) held_->set_tables(tables);
  bool any_switched = false;
  for (const auto& device : owned_devices_) any_switched = switch_tables(*device, tables) || any_switched;
  if (other_kernels) {
    for (const auto& device : owned_devices_) device->refusals.clear();
    serve_stand_ins();
  }
  for (const WantedKernel& one : agreed.wanted) want_for_others(one);
  if (any_switched) ++num_reloads_;
  wake_if_waiting();
  result.changed = other_kernels || other_tables;
  return result;
}

/// Has the tables of a digest serve on a device; no rows if it has not read them.
bool PlanService::switch_tables(ThreadLimitedDevice& device, const std::string& digest) {
  if (device.now.load()->digest() == digest) return false;
  for (std::unique_ptr<Snapshot>* one : {&device.reported, &device.waiting}) {
    if (!*one || (*one)->digest() != digest) continue;
    replace_tables(device, std::move(*one));
    return true;
  }
  if (!device.waiting) device.waiting = store_.read(device.info, nullptr);
  replace_tables(device, store_.without_rows(device.info, *device.waiting));
  return true;
}

/// Answers the shapes again whose kernels serve from now on, or no longer do.
void PlanService::serve_stand_ins() {
  if (held_) held_->forget_answers();
  for (const auto& device : owned_devices_) {
    for (const CachedAnswer& one : device->now.load()->served.all()) {
      if (one.has_left) continue;
      const bool may_stay = !one.hit.is_stand_in && one.plan != nullptr && device->maker.may_serve(one.plan->kernels);
      const LookupRequest request{one.key, one.layouts, device->units};
      if (!may_stay)
        serve(request);
      else if (held_)
        note_answer(*device->now.load(), {.hit = one.hit, .plan = one.plan}, request);
    }
  }
  make_room();
}

bool PlanService::compile_held() {
  Lock lock(guard_);
  const std::vector<CompileTask> tasks = held_ ? held_->take_work() : std::vector<CompileTask>();
  if (tasks.empty()) return false;
  std::map<std::string, std::string> failures;
  if (options_.compile_mode != CompileMode::never) {
    lock.unlock();
    failures = compile(tasks);
    lock.lock();
  }
  if (!held_) return true;
  note_compiled(tasks, failures);
  // Agreed on before, as another one's: it was missing here alone.
  bool are_agreed = true;
  for (const CompileTask& task : tasks) {
    const auto binary = first_->maker.cached(task);
    are_agreed = are_agreed && binary && held_->agreed().serves({binary->recipe, binary->toolchain});
  }
  if (are_agreed) serve_stand_ins();
  return true;
}

void PlanService::note_compiled(const std::vector<CompileTask>& tasks,
                                const std::map<std::string, std::string>& failures) {
  for (const CompileTask& task : tasks) {
    const std::string recipe = task.recipe();
    if (const auto failure = failures.find(recipe); failure != failures.end())
      held_->note_failure(recipe, failure->second);
    else if (const auto binary = first_->maker.cached(task))
      held_->note_compiled(*binary);
  }
}

void PlanService::note_answer(const Snapshot& tables, const Resolution& made, const LookupRequest& request) {
  const auto problem = problem_of(codes(request.key), request.key);
  if (!problem || made.plan == nullptr) return;
  const RowIndex& rows = rows_of(tables, request.key);
  const bool is_of_row = made.hit.row != 0 && !made.hit.is_stand_in;
  held_->note_answer({request.units, problem->key(),
                      is_of_row ? std::string(rows.kernel_name(rows.row(made.hit.row))) : made.plan->default_config});
}

void PlanService::want_held(const LookupRequest& request, const Resolution& made) {
  const auto problem = problem_of(codes(request.key), request.key);
  if (problem) held_->want({request.units, problem->key(), made.wanted}, made.missing);
}

/// Queues what another process wants compiled, if this one can name its kernels.
void PlanService::want_for_others(const WantedKernel& wanted) {
  if (held_->has_seen(wanted)) return;
  std::vector<CompileTask> tasks;
  try {
    const auto units = static_cast<size_t>(wanted.units);
    ThreadLimitedDevice* const own = units < devices_.size() ? devices_[units].load() : nullptr;
    ThreadLimitedDevice& device = own != nullptr ? *own : present_device();
    const Problem asked = Problem::parse(wanted.problem);
    const Candidate candidate = Candidate::parse(wanted.candidate);
    tasks = device.maker.make(op_of(asked).normalise(asked, device.info), candidate.name(), layout_of(candidate.config))
                .missing;
  } catch (const Error&) {
    // Its rank has another build or library, which its answers will tell.
  }
  held_->want_for_others(wanted, tasks);
}

}  // namespace attune
