// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compile/compile_pool.h"
#include "core/candidate.h"
#include "core/device_info.h"
#include "solver/registry.h"

namespace attune {

inline constexpr uint64_t kCacheBytes = uint64_t{1} << 30;

/// The compiled kernels that candidates need: from the cache, or made by the pool. Compiling and measuring alternate on
/// a host, so nothing is under way when a call returns. One thread.
class Kernels {
 public:
  /// What a candidate is admitted with. Candidates of solvers without generated kernels are ok with no binaries.
  struct Built {
    Outcome outcome;
    std::vector<Binary> binaries;
  };

  /// `folder`: of the kernel cache, which it may fill up to `kCacheBytes`.
  Kernels(const Registry& solvers, const DeviceInfo& device, const std::filesystem::path& folder,
          const PoolOptions& options = {})
      : solvers_(solvers), device_(device), cache_({folder}, kCacheBytes), pool_(cache_, options) {}

  /// One Built a candidate, in their order. What several need is compiled once, all of it on all cores. A recipe is
  /// looked for once in the life of this object.
  std::vector<Built> build(const Problem& problem, std::span<const Candidate> candidates);

 private:
  std::vector<CompileTask> tasks_of(const Problem& problem, const Candidate& candidate) const;

  const Registry& solvers_;
  DeviceInfo device_;
  KernelCache cache_;
  CompilePool pool_;
  std::map<std::string, Compiled> compiled_;  ///< By recipe.
};

}  // namespace attune
