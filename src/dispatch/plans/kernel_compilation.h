// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "compile/compile_helper.h"
#include "compile/compile_pool.h"
#include "dispatch/table/weights_layouts.h"
#include "solver/solver.h"

namespace attune {

/// Where compiled kernels are kept.
struct CachePlace {
  std::filesystem::path folder;  ///< Empty: there is none.
  uint64_t max_bytes = 0;
};

/// Compiles the kernels of several shapes into a cache at once, in child processes with limits and a deadline, at most
/// one process for each core. Belongs to one thread; the processes die with it. Other threads may fork meanwhile.
class KernelCompilations {
 public:
  /// `helper`: how processes are started that compile with a library (compile_worker()).
  KernelCompilations(CachePlace cache, const HelperProgram& helper) : cache_(std::move(cache)), helper_(helper) {}
  /// Kills the compilers.
  ~KernelCompilations();
  KernelCompilations(const KernelCompilations&) = delete;
  KernelCompilations& operator=(const KernelCompilations&) = delete;

  /// Begins to compile what a shape needs. A kernel that another shape has begun is not compiled twice.
  void begin(const LookupRequest& shape, const std::vector<CompileTask>& tasks);
  /// Recipes of all that was begun so far.
  const std::set<std::string>& begun() const noexcept { return begun_; }
  /// Number of shapes that wait for a kernel.
  size_t num_shapes() const noexcept { return shapes_.size(); }

  /// A shape whose kernels were compiled, or were not.
  struct Ended {
    LookupRequest shape;
    std::map<std::string, std::string> failures;  ///< Reasons, by recipe. They include a missing cache folder.
  };
  /// Blocks for at most `timeout`, and not at all while nothing is compiled. Throws like LibraryUse::enter().
  std::vector<Ended> wait(Milliseconds timeout);

 private:
  struct Waiting {
    Ended shape;
    std::set<std::string> recipes;  ///< Those that have not ended.
  };
  void submit(const CompileTask& task, const std::string& recipe);
  void end(const std::string& recipe, const char* failure);
  void end_all(const std::string& failure);
  void end_pool() noexcept;

  const CachePlace cache_;
  const HelperProgram& helper_;
  std::list<Waiting> shapes_;
  std::set<std::string> recipes_, begun_;  ///< Under way; ever begun.
  std::unique_ptr<KernelCache> kernels_;
  std::unique_ptr<CompilePool> pool_;  ///< Null while nothing is compiled.
};

/// Compiles kernels like KernelCompilations; blocks. Returns the failed recipes with the reasons. Once `stopped`
/// returns true, it kills the compilers and returns: an ending program does not wait for them.
std::map<std::string, std::string> compile_kernels(const std::vector<CompileTask>& tasks, const CachePlace& cache,
                                                   const HelperProgram& helper, const std::function<bool()>& stopped);

}  // namespace attune
