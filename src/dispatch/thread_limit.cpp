// SPDX-License-Identifier: MIT
// The thread limit of a dispatcher, and the device under each limit.
#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "device/devices.h"
#include "dispatch/dispatch_state.h"

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

void Dispatcher::State::open_device_without_limit() {
  auto opened = open_device(options.device);
  is_host_ = opened->info().kind == "host";
  devices_ = std::vector<std::atomic<LimitedDevice*>>(static_cast<size_t>(opened->info().num_units) + 1);
}

LimitedDevice& Dispatcher::State::make_device(int64_t units) {
  auto& made = owned_devices_.emplace_back(std::make_unique<LimitedDevice>(open_device(options.device, units), cache_,
                                                                           options.compile_mode != CompileMode::never,
                                                                           plans_, log_, options.require));
  bool changed = false;
  made->now.store(read_tables(made->maker.device(), nullptr, changed).release());
  if (!is_host_) return *made;
  if (const auto why = notice_without_rows(*made->now.load(), made->units()); !why.empty()) log_.say(why);
  return *made;
}

int64_t Dispatcher::State::set_threads(int64_t threads) {
  if (threads < 0) fail(ErrorCode::invalid_input, "a thread limit must be at least 1, or 0 for none, got {}", threads);
  const auto all = static_cast<int64_t>(devices_.size()) - 1;
  // Only a host's units are threads.
  const int64_t units = threads == 0 || threads > all || !is_host_ ? all : threads;
  std::atomic<LimitedDevice*>& device = devices_[static_cast<size_t>(units)];
  if (device.load(std::memory_order_acquire) == nullptr) {
    const std::lock_guard lock(guard_);
    if (device.load(std::memory_order_relaxed) == nullptr) device.store(&make_device(units), std::memory_order_release);
  }
  // Applications repeat the same number, so that the pointer is only read.
  LimitedDevice* const wanted = device.load(std::memory_order_acquire);
  if (limited.load(std::memory_order_relaxed) != wanted) limited.store(wanted, std::memory_order_release);
  return units;
}

void Dispatcher::State::log_notices(const Snapshot& tables) {
  for (const Snapshot::Tables& one : tables.tables) {
    for (const std::string& notice : one.notices) log_.say(notice);
    for (const std::string& notice : one.rows->notices()) log_.say(notice);
  }
}

}  // namespace attune
