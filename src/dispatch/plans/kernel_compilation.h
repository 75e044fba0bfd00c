// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compile/compile_helper.h"
#include "solver/solver.h"

namespace attune {

/// Where compiled kernels are kept.
struct CachePlace {
  std::filesystem::path folder;  ///< Empty: there is none.
  uint64_t max_bytes = 0;
};

/// Compiles kernels into a cache in child processes with limits and a deadline, one after another; blocks. `helper`:
/// how those are started that compile with a library (compile_worker()). Returns the failed recipes with the reasons,
/// which include an empty folder. Once `stopped` returns true, it kills the compilers and returns: an ending program
/// does not wait for them. Other threads may fork meanwhile.
std::map<std::string, std::string> compile_kernels(const std::vector<CompileTask>& tasks, const CachePlace& cache,
                                                   const HelperProgram& helper, const std::function<bool()>& stopped);

}  // namespace attune
