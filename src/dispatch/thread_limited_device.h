// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "device/device_kind.h"
#include "dispatch/plans/numbered_candidates.h"
#include "dispatch/plans/plan_maker.h"
#include "dispatch/plans/resolver.h"
#include "dispatch/table_snapshot_store.h"

namespace attune {

/// The device under one thread limit, which is its number of units: the rows for it, the answers, and the libraries
/// opened with it. A dispatcher makes one for each limit that it is given and never frees it before its end, so that a
/// change of the limit costs a known shape nothing. Readers use `now`, `units`, `info` and `captured_threads`; the rest
/// is used by the thread that holds the dispatcher's ForkGuard.
struct ThreadLimitedDevice {
  /// Arguments as for PlanMaker and Resolver.
  ThreadLimitedDevice(std::unique_ptr<Device> device, std::filesystem::path cache, bool asks_compilers,
                      PlanCache& plans, DispatchLog& log, Requirement required)
      : maker(std::move(device), registry(HostProcess::application), std::move(cache), asks_compilers),
        resolver(maker, plans, log, required),
        numbered(maker, registry(HostProcess::application)),
        info(maker.device()),
        units(info.num_units),
        captured_threads(units_are_cores(info) ? static_cast<int>(units) : 0) {}
  ~ThreadLimitedDevice() { delete now.load(); }
  ThreadLimitedDevice(const ThreadLimitedDevice&) = delete;
  ThreadLimitedDevice& operator=(const ThreadLimitedDevice&) = delete;

  PlanMaker maker;
  Resolver resolver;
  NumberedCandidates numbered;
  const DeviceInfo& info;
  const int64_t units;
  const int captured_threads;  ///< Limit that captured shapes are noted with; 0 on a device that is no host.
  std::atomic<Snapshot*> now{nullptr};
  std::unique_ptr<Snapshot> waiting;   ///< Tables that were read while changes are held; null: none but those of `now`.
  std::unique_ptr<Snapshot> reported;  ///< Those that waited when the last report was made, if others do by now.
  std::map<ProblemKey, Refusal> refusals;  ///< By problem hash; cleared when the tables change.
  std::set<ProblemKey> requested_kernels;  ///< Shapes whose kernel was or will be compiled.
  std::string other_limits;                ///< A sentence if the tables have rows for other limits alone; else empty.
  std::atomic<bool> is_unreported{false};  ///< Whether that sentence waits for a call under this limit.
};

}  // namespace attune
