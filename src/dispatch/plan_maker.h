// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/plan.h"
#include "attune/problem.h"
#include "compile/kernel_cache.h"
#include "core/binary.h"
#include "core/candidate.h"
#include "device/device.h"
#include "solver/registry.h"

namespace attune {

/// Makes plans of candidates on one device. Solvers are opened when first needed and stay open. One thread at a time.
class PlanMaker {
 public:
  /// Opens the device. `cache`: the folder of compiled kernels; empty: there is none. Throws as open_device().
  PlanMaker(std::string_view device, const Registry& solvers, std::filesystem::path cache);

  const DeviceInfo& device() const noexcept { return device_->info(); }

  struct Made {
    std::unique_ptr<Plan> plan;        ///< Any thread may run it.
    std::string why_not;               ///< No plan: one sentence's end, as in `its kernel …`.
    std::vector<CompileTask> missing;  ///< No plan, but these would do: kernels that the cache does not have.
    bool drifted = false;              ///< A kernel is of another compiler than the one here.
  };
  /// Of the candidate that a table names. The problem is normalised. Does not throw for what is the candidate's fault.
  Made make(const Problem& problem, std::string_view candidate);
  /// Of the first solver in the family's order of baselines that takes the problem, untuned. No plan: none does.
  Made make_untuned(const Problem& problem);

 private:
  struct Opened {
    std::unique_ptr<Backend> backend;
    std::string unavailable;
    bool used = false;  ///< Has made a plan.
  };
  Opened& opened(const Solver& solver);
  std::string why_unusable(const Problem& problem, const Candidate& candidate);
  Made prepare(const Problem& problem, const Solver& solver, const Config& config);

  std::unique_ptr<Device> device_;
  const Registry& solvers_;
  std::optional<KernelCache> cache_;  ///< Nothing where there is no home folder.
  std::map<std::string, Opened, std::less<>> opened_;
};

}  // namespace attune
