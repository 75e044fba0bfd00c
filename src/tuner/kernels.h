// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compile/cache_limit.h"
#include "compile/compile_pool.h"
#include "core/candidate.h"
#include "core/device_info.h"
#include "measure/executor.h"
#include "solver/registry.h"

namespace attune {

/// Compiled kernels of other machines. Thread-safe. Its functions throw nothing of Error: without an answer there is no
/// kernel.
class KernelExchange {
 public:
  virtual ~KernelExchange() = default;
  /// Returns the tasks' binaries that other machines have compiled, each in a file that the caller may move.
  virtual std::vector<Binary> fetch(std::span<const CompileTask> tasks) = 0;
  /// Hands binaries of the kernel cache to other machines. The same ones come again: the exchange knows what the others
  /// lack.
  virtual void offer(std::span<const Binary> binaries) = 0;
};

/// Provides the compiled kernels of candidates, from the cache or from the compile pool. Keeps them in the cache as
/// long as this object lives. When a call returns, no compiler runs, unless it was stopped or kernels were prefetched:
/// build() alone alternates with measuring. Not thread-safe.
class Kernels {
 public:
  /// A candidate of a problem and its solver's contender; null: the solver is not available.
  struct Request {
    const Problem* problem;
    const Contender* contender;
    Candidate candidate;
  };
  /// Outcome and binaries for the admission of a candidate. Candidates that need no compiled kernel are ok with no
  /// binaries. So are candidates that do not belong to their solver (another version, a config outside its space): the
  /// executor refuses them with the reason, and nothing is generated from their values.
  struct BuildResult {
    Outcome outcome;
    std::vector<Binary> binaries;
    bool is_unbuilt = false;  ///< A kernel is missing, and so is its compiler (CompileResult::is_unbuilt).
    double seconds = 0;       ///< Time to compile its kernels in this run; a shared kernel counts for each candidate.
  };

  /// Is told how many of the requested candidates still wait for their kernels; true: stop waiting.
  using Stop = std::function<bool(size_t num_waiting)>;

  /// `folder`: folder of the kernel cache, which may grow to `cache_bytes`.
  Kernels(const Registry& solvers, const DeviceInfo& device, const std::filesystem::path& folder,
          const PoolOptions& options = {}, uint64_t cache_bytes = kProgramCacheBytes)
      : solvers_(solvers),
        device_(device),
        cache_(cache_folders(folder), cache_bytes, KernelCache::Lease::held, cache_reuse()),
        pool_(cache_, options) {}

  /// Shares kernels with other machines, from now on: a kernel that the cache lacks is fetched before it is compiled,
  /// and others are offered. `exchange` must outlive the last call.
  void share(KernelExchange& exchange) { exchange_ = &exchange; }
  /// Has kernels that other machines did not have fetched when they are needed again.
  void fetch_again() { fetched_.clear(); }
  /// Returns one BuildResult per request, in order. A kernel that several requests need is compiled once. Compilers use
  /// all cores. `stop` is called five times a second while compilers run; after it returned true, missing kernels are
  /// `cancelled`. Throws what CompilePool::wait() throws, but io instead of device: a machine that starts no more
  /// processes has not lost the device.
  std::vector<BuildResult> build(std::span<const Request> requests, const Stop& stop = {});
  /// Like build(), but compiles nothing: a kernel that is not in the cache is `cancelled`. Throws like build().
  std::vector<BuildResult> find(std::span<const Request> requests);
  /// Requests for candidates of one problem. They point to `problem` and `contenders`.
  static std::vector<Request> requests_of(const Problem& problem, std::span<const Contender> contenders,
                                          std::span<const Candidate> candidates);
  /// Like build(), for candidates of one problem.
  std::vector<BuildResult> build(const Problem& problem, std::span<const Contender> contenders,
                                 std::span<const Candidate> candidates, const Stop& stop = {});
  /// Starts to compile kernels that build() may need later, while other candidates are measured. Up to num_jobs()
  /// compilers run; the other kernels start when this object is called again. Do not call it where compilers disturb
  /// measurements. Returns the recipes of each request's kernels, in order. Throws like build().
  std::vector<std::vector<std::string>> prefetch(std::span<const Request> requests);
  /// For poll(): readable while serve() has something to do. The same number for this object's life.
  int descriptor() const noexcept { return pool_.descriptor(); }
  /// Takes the compilers' results and starts compilers for waiting kernels. Throws like build().
  void serve() { collect(Milliseconds(0)); }
  /// Serves the compilers once one has ended, or when the time has passed. Throws like build().
  void await(Milliseconds timeout);
  /// Whether one of the candidates needs a compiled kernel.
  bool are_needed(std::span<const Request> requests) const;
  /// Whether build() would wait for none of them. Serves the compilers. Throws like build().
  bool are_ready(std::span<const std::string> recipes);
  uint32_t num_jobs() const noexcept { return pool_.num_jobs(); }  ///< Maximum number of compilers at once.

 private:
  std::vector<CompileTask> tasks_of(const Request& request) const;
  bool has(const std::string& recipe) const;
  void fetch(std::span<const CompileTask> tasks);
  std::vector<std::vector<CompileTask>> fetched_tasks(std::span<const Request> requests);
  void offer(std::span<const BuildResult> built);
  void submit(const std::vector<CompileTask>& tasks);
  void with_pool(const std::function<void()>& call);
  void collect(Milliseconds timeout);

  const Registry& solvers_;
  DeviceInfo device_;
  KernelCache cache_;
  CompilePool pool_;
  std::map<std::string, CompileResult> results_;  ///< By recipe.
  std::set<std::string> under_way_;               ///< Submitted, not answered yet.
  KernelExchange* exchange_ = nullptr;            ///< Null: kernels are not shared.
  std::set<std::string> fetched_;                 ///< Recipes that the exchange was asked for.
};

}  // namespace attune
