// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/device.h"
#include "experiment.h"
#include "measure/blocking_calls.h"
#include "preparing_neighbour.h"
#include "process/quiet.h"
#include "solver/registry.h"
#include "store/journal.h"
#include "tuner/kernels.h"
#include "tuner/tuner.h"

namespace attune::experiments {

/// A device of this machine and an executor on it.
struct Workbench {
  /// Uses the given solvers; default: all of this build.
  explicit Workbench(const Settings& settings, const Registry& solvers = registry());
  std::unique_ptr<Device> device;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<PreparingNeighbour> neighbour;  ///< Null: nobody works on the device beside.
  std::unique_ptr<Kernels> kernels;
};

/// Opens a problem. Throws unavailable if it cannot run on this machine.
OpenAnswer open_problem(Executor& executor, ProblemId id, const Problem& problem, const Protocol& protocol);

/// Returns the options of `attune tune` with the flags of the settings only; `exhaustive_options` adds `--search
/// exhaustive --iters N`.
TunerOptions race_options(const Settings& settings);
TunerOptions exhaustive_options(const Settings& settings, uint32_t iters);

/// Returns normalised work items of the settings' part: of problem texts, or of the shape list (`max_count` of them,
/// evenly spread; 0: all).
std::vector<WorkItem> items_of(std::span<const std::string_view> problems, const Settings& settings,
                               const DeviceInfo& device);
std::vector<WorkItem> shipped_items(const Settings& settings, const DeviceInfo& device, size_t max_count);

/// Tunes without earlier results. Prints one line per problem on standard error. Throws unavailable unless all are
/// decided.
std::vector<TuneResult> tune(Workbench& bench, const std::vector<WorkItem>& items, const TunerOptions& options,
                             Journal& journal);

/// Waits for a quiet machine, and later reports how much of the processors other processes used.
class LoadMeter {
 public:
  explicit LoadMeter(double quiet_wait_s);
  /// Share since the constructor returned, 0 … 1; the experiment's own neighbour counts as another process.
  double others_share() const;

 private:
  CpuTimes before_;
};

/// A frequency with its 95 % interval (Wilson).
struct Frequency {
  double share = 0, low = 0, high = 0;
};
Frequency frequency(size_t count, size_t of);

}  // namespace attune::experiments
