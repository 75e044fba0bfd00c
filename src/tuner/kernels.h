// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compile/compile_pool.h"
#include "core/candidate.h"
#include "core/device_info.h"
#include "measure/executor.h"
#include "solver/registry.h"

namespace attune {

inline constexpr uint64_t kCacheBytes = uint64_t{1} << 30;

/// The compiled kernels that candidates need: from the cache, or made by the pool. Compiling and measuring alternate on
/// a host, so nothing is under way when a call returns, unless it was stopped. One thread.
class Kernels {
 public:
  /// A candidate of a problem and what its solver says there; null: the solver is not here.
  struct Request {
    const Problem* problem;
    const Contender* contender;
    Candidate candidate;
  };
  /// What a candidate is admitted with. Candidates that need nothing compiled are ok with no binaries; so are those
  /// that are none of their solver's (another version, a config outside its space): the executor refuses them with the
  /// reason, and nothing is generated from their values.
  struct BuildResult {
    Outcome outcome;
    std::vector<Binary> binaries;
  };

  /// `folder`: of the kernel cache, which it may fill up to `kCacheBytes`.
  Kernels(const Registry& solvers, const DeviceInfo& device, const std::filesystem::path& folder,
          const PoolOptions& options = {})
      : solvers_(solvers), device_(device), cache_({folder}, kCacheBytes), pool_(cache_, options) {}

  /// One BuildResult a request, in their order. What several need is compiled once, all of it on all cores. `stop` is
  /// asked five times a second; after it said yes, what is not there is `cancelled`. Throws as CompilePool::wait().
  std::vector<BuildResult> build(std::span<const Request> requests, const std::function<bool()>& stop = {});
  /// The same for candidates of one problem.
  std::vector<BuildResult> build(const Problem& problem, std::span<const Contender> contenders,
                                 std::span<const Candidate> candidates, const std::function<bool()>& stop = {});

 private:
  std::vector<CompileTask> tasks_of(const Request& request) const;
  bool has(const std::string& recipe) const;
  void compile(const std::vector<CompileTask>& tasks, const std::function<bool()>& stop);

  const Registry& solvers_;
  DeviceInfo device_;
  KernelCache cache_;
  CompilePool pool_;
  std::map<std::string, CompileResult> compiled_;  ///< By recipe.
  std::set<std::string> under_way_;                ///< Submitted, not answered.
};

}  // namespace attune
