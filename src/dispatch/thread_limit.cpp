// SPDX-License-Identifier: MIT
// The thread limit of a dispatcher, and the device under each limit.
#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "device/devices.h"
#include "dispatch/plan_service.h"

namespace attune {
namespace {

/// Returns a sentence if the tables have rows for other numbers of threads and none for this one; else nothing.
std::string notice_without_rows(const Snapshot& tables, int64_t units) {
  std::set<int64_t> others;
  for (const Snapshot::Tables& one : tables.tables) {
    if (one.rows->num_rows() > 0) return {};
    others.insert(one.rows->other_units().begin(), one.rows->other_units().end());
  }
  if (others.empty()) return {};
  return fmt::format("the tables have no row for {}, only for {}: tune with `attune tune --threads {}`",
                     counted(static_cast<size_t>(units), "thread"), fmt::join(others, ", "), units);
}

}  // namespace

ThreadLimitedDevice& PlanService::make_device(int64_t units) {
  auto& made = owned_devices_.emplace_back(std::make_unique<ThreadLimitedDevice>(
      open_device(options_.device, units), cache_.folder, options_.compile_mode != CompileMode::never, plans_, log_,
      options_.require));
  if (!is_host_ && options_.threads > 0) made->maker.limit_threads(options_.threads);
  if (options_.workspaces.allocate) made->maker.set_workspaces(options_.workspaces);
  auto rows = store_.read(made->info, nullptr);
  if (held_) {
    made->maker.set_agreed(&held_->agreed());
    if (rows->digest() != held_->tables()) {
      made->waiting = std::move(rows);
      rows = store_.without_rows(made->info, *made->waiting);
      held_->note_tables();
    }
  }
  made->now.store(rows.release());
  if (!is_host_) return *made;
  made->other_limits = notice_without_rows(*made->now.load(), made->units);
  made->is_unreported = !made->other_limits.empty();
  return *made;
}

/// Reports once that rows are for other limits. It waits for a call under this one, because an application may set its
/// own before the first.
void PlanService::report_other_limits(ThreadLimitedDevice& device) {
  if (device.is_unreported.exchange(false)) log_.say(device.other_limits);
}

int64_t PlanService::set_threads(int64_t threads) {
  if (threads < 0) fail(ErrorCode::invalid_input, "a thread limit must be at least 1, or 0 for none, got {}", threads);
  const auto all = static_cast<int64_t>(devices_.size()) - 1;
  // Only a host's units are threads.
  const int64_t units = threads == 0 || threads > all || !is_host_ ? all : threads;
  std::atomic<ThreadLimitedDevice*>& device = devices_[static_cast<size_t>(units)];
  if (device.load(std::memory_order_acquire) == nullptr) {
    const Lock lock(guard_);
    if (device.load(std::memory_order_relaxed) == nullptr) device.store(&make_device(units), std::memory_order_release);
  }
  // Applications repeat the same number, so that the pointer is only read.
  ThreadLimitedDevice* const wanted = device.load(std::memory_order_acquire);
  if (first_ != nullptr && wanted->is_unreported.load(std::memory_order_relaxed)) {
    const Lock lock(guard_);
    report_other_limits(*wanted);
  }
  if (present_.load(std::memory_order_relaxed) != wanted) present_.store(wanted, std::memory_order_release);
  return units;
}

}  // namespace attune
