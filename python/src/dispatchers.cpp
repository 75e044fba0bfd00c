// SPDX-License-Identifier: MIT
#include "dispatchers.h"

#include <array>
#include <atomic>
#include <string>

#include "common_changes.h"

namespace attune::python {
namespace {

constexpr size_t kMaxGpus = 64;
constinit std::array<std::atomic<Dispatcher*>, kMaxGpus> of_gpus{};  ///< Opened so far, by index.
constinit std::atomic<Dispatcher*> of_host{nullptr};

}  // namespace

Dispatcher& host_dispatcher() {
  Dispatcher* known = of_host.load(std::memory_order_acquire);
  if (known == nullptr) of_host = known = &Dispatcher::global("cpu:0");
  return *known;
}

Dispatcher& dispatcher(const CallPlace& place) {
  if (place.kind == DeviceKind::host) return host_dispatcher();
  const auto open = [&]() -> Dispatcher& { return Dispatcher::global("cuda:" + std::to_string(place.index)); };
  if (place.index < 0 || static_cast<size_t>(place.index) >= kMaxGpus) return open();
  std::atomic<Dispatcher*>& own = of_gpus[static_cast<size_t>(place.index)];
  if (Dispatcher* const known = own.load(std::memory_order_acquire)) return *known;
  Dispatcher& opened = open();
  Dispatcher* before = nullptr;
  if (own.compare_exchange_strong(before, &opened)) hold_if_wanted(opened);
  return opened;
}

uint64_t captured_stand_ins() {
  uint64_t sum = 0;
  for (const auto& one : of_gpus) {
    if (const Dispatcher* const known = one.load(std::memory_order_acquire)) sum += known->counts().captured_stand_ins;
  }
  return sum;
}

bool reload_all() {
  Dispatcher& of_environment = Dispatcher::global();
  bool has_changed = of_environment.reload();
  const auto reload = [&](const std::atomic<Dispatcher*>& one) {
    Dispatcher* const known = one.load(std::memory_order_acquire);
    if (known != nullptr && known != &of_environment) has_changed = known->reload() || has_changed;
  };
  reload(of_host);
  for (const auto& one : of_gpus) reload(one);
  return has_changed;
}

}  // namespace attune::python
